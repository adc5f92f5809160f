using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Tls.Certificates;

namespace Millrace.Tls;

/// <summary>A certificate that is already loaded.</summary>
/// <param name="Certificate">With its private key, which must be exportable, as OpenSSL gets a copy.</param>
/// <param name="Chain">The certificates that lead to its root, the next one first; null for none.</param>
public sealed record LoadedCertificate(X509Certificate2 Certificate, IReadOnlyList<X509Certificate2>? Chain = null) : ServerCertificate
{
    internal override string Source => Certificate.Subject;

    internal override CertificateKeyPair Load()
    {
        byte[] exported = ExportKey();
        nint key = KeyReader.ReadDer(exported);
        CryptographicOperations.ZeroMemory(exported);
        if (key == 0)
        {
            throw new TlsException($"OpenSSL cannot read the private key of {Source}.");
        }

        byte[][] certificates = [Certificate.RawData, .. (Chain ?? []).Select(static issuer => issuer.RawData)];
        return CertificateKeyPair.Match(certificates, key, Source, Source);
    }

    private byte[] ExportKey()
    {
        try
        {
            using AsymmetricAlgorithm? key = (AsymmetricAlgorithm?)Certificate.GetECDsaPrivateKey() ?? Certificate.GetRSAPrivateKey();
            return key?.ExportPkcs8PrivateKey()
                ?? throw new TlsException($"The certificate {Source} has no private key that TLS can use: RSA or ECDSA.");
        }
        catch (CryptographicException refusal)
        {
            throw new TlsException(
                $"The private key of {Source} cannot be exported: load it with X509KeyStorageFlags.Exportable, or give its files.",
                refusal);
        }
    }
}
