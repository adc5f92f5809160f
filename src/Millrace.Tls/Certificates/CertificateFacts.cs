using System.Security.Cryptography.X509Certificates;

namespace Millrace.Tls.Certificates;

/// <summary>What is asked of a certificate before OpenSSL has it.</summary>
/// <param name="Names">The hosts it is for, in lower case, perhaps <c>*.example.org</c>.</param>
/// <param name="KeyKind">The object identifier of its key's algorithm: a context has one certificate of each.</param>
internal sealed record CertificateFacts(IReadOnlyList<string> Names, string KeyKind)
{
    public static CertificateFacts Of(X509Certificate2 certificate) =>
        new(CertificateText.NamesOf(certificate), certificate.PublicKey.Oid.Value ?? "");

    /// <summary>Whether both are for the same hosts, and a client may be shown either, by the signatures it knows.</summary>
    public bool IsPairedWith(CertificateFacts other) =>
        KeyKind != other.KeyKind && Names.Count > 0 && Names.ToHashSet().SetEquals(other.Names);
}
