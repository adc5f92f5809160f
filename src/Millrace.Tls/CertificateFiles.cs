using System.Security.Cryptography;
using System.Text;
using Millrace.Tls.Certificates;

namespace Millrace.Tls;

/// <summary>A certificate on disk, read at the start and at each reload.</summary>
/// <param name="Certificate">
/// A PEM file: the certificate, followed by those that lead to its root. A single certificate may be in DER.
/// </param>
/// <param name="Key">A PEM file with its private key, possibly the same file; or the key in DER.</param>
/// <param name="Password">The key's password; null for a key that is not encrypted.</param>
public sealed record CertificateFiles(string Certificate, string Key, string? Password = null) : ServerCertificate
{
    internal override string Source => Certificate;

    /// <summary>The files, without the password.</summary>
    public override string ToString() => $"{Certificate} with the key {Key}";

    internal override CertificateKeyPair Load()
    {
        IReadOnlyList<byte[]> certificates = CertificateReader.Read(Certificate);
        byte[]? password = Password is null ? null : Encoding.UTF8.GetBytes(Password + "\0");
        nint key;
        try
        {
            key = KeyReader.Read(Key, password, isCertificates: Key == Certificate);
        }
        finally
        {
            CryptographicOperations.ZeroMemory(password);
        }

        return CertificateKeyPair.Match(certificates, key, Certificate, Key);
    }
}
