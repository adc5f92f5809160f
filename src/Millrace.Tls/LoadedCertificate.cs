using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Tls.Certificates;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls;

/// <summary>A certificate that somebody has loaded already.</summary>
/// <param name="Certificate">With its private key, which must be exportable: it is handed over to OpenSSL.</param>
/// <param name="Chain">Those that lead to its root, the next one first; null for none.</param>
public sealed record LoadedCertificate(X509Certificate2 Certificate, IReadOnlyList<X509Certificate2>? Chain = null) : ServerCertificate
{
    internal override string Place => Certificate.Subject;

    internal override CertificateFacts ReadFacts(TlsLog log)
    {
        CertificateText.CheckDates(Certificate, Place, log);
        return CertificateFacts.Of(Certificate);
    }

    internal override unsafe void LoadInto(nint context)
    {
        OpenSslErrors.Clear();
        fixed (byte* bytes = Certificate.RawData)
        {
            Require(LibSsl.SSL_CTX_use_certificate_ASN1(context, Certificate.RawData.Length, bytes) == 1);
        }

        foreach (X509Certificate2 issuer in Chain ?? [])
        {
            fixed (byte* bytes = issuer.RawData)
            {
                byte* next = bytes;
                nint certificate = LibCrypto.d2i_X509(0, &next, issuer.RawData.Length);
                Require(certificate != 0);

                // With 0 the context takes it over.
                Require(LibSsl.SSL_CTX_ctrl(context, SslConstants.ControlChainCertificate, 0, (void*)certificate) == 1);
            }
        }

        LoadKeyInto(context);
    }

    private unsafe void LoadKeyInto(nint context)
    {
        byte[] key = ExportKey();
        fixed (byte* bytes = key)
        {
            byte* next = bytes;
            nint handle = LibCrypto.d2i_AutoPrivateKey(0, &next, key.Length);
            bool isTaken = handle != 0 && LibSsl.SSL_CTX_use_PrivateKey(context, handle) == 1;
            LibCrypto.EVP_PKEY_free(handle);
            CryptographicOperations.ZeroMemory(key);
            Require(isTaken);
        }
    }

    private byte[] ExportKey()
    {
        try
        {
            using AsymmetricAlgorithm? key = (AsymmetricAlgorithm?)Certificate.GetECDsaPrivateKey() ?? Certificate.GetRSAPrivateKey();
            return key?.ExportPkcs8PrivateKey()
                ?? throw new TlsException($"The certificate {Place} has no private key that TLS can use: RSA or ECDSA.");
        }
        catch (CryptographicException refusal)
        {
            throw new TlsException(
                $"The private key of {Place} cannot be exported: load it with X509KeyStorageFlags.Exportable, or give its files.", refusal);
        }
    }

    private void Require(bool isTaken)
    {
        if (!isTaken)
        {
            throw new TlsException($"OpenSSL does not take the certificate {Place}: {OpenSslErrors.Drain()}.");
        }
    }
}
