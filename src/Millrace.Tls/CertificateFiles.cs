using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Millrace.Tls.Certificates;
using Millrace.Tls.Handshakes;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls;

/// <summary>A certificate on disk, read at the start and at each reload.</summary>
/// <param name="Certificate">A PEM file: the certificate, and behind it those that lead to its root.</param>
/// <param name="Key">A PEM file with its private key; it may be the same one.</param>
/// <param name="Password">What the key is encrypted with; null for one that is not.</param>
public sealed record CertificateFiles(string Certificate, string Key, string? Password = null) : ServerCertificate
{
    internal override string Place => Certificate;

    /// <summary>The files, and not the password.</summary>
    public override string ToString() => $"{Certificate} with the key {Key}";

    internal override CertificateFacts ReadFacts(TlsLog log)
    {
        byte[] pem = CertificateText.ReadFile(Certificate, "certificate");
        CryptographicOperations.ZeroMemory(CertificateText.ReadFile(Key, "key"));
        try
        {
            using X509Certificate2 certificate = X509Certificate2.CreateFromPem(Encoding.Latin1.GetString(pem));
            CertificateText.CheckDates(certificate, Place, log);
            return CertificateFacts.Of(certificate);
        }
        catch (CryptographicException refusal)
        {
            throw new TlsException(
                $"'{Certificate}' holds no certificate in PEM ('-----BEGIN CERTIFICATE-----'): {refusal.Message}", refusal);
        }
    }

    internal override unsafe void LoadInto(nint context)
    {
        byte[]? password = Password is null ? null : Encoding.UTF8.GetBytes(Password + "\0");
        try
        {
            LoadInto(context, password);
        }
        finally
        {
            CryptographicOperations.ZeroMemory(password);
        }
    }

    private unsafe void LoadInto(nint context, byte[]? password)
    {
        fixed (byte* passwordBytes = password)
        {
            LibSsl.SSL_CTX_set_default_passwd_cb(context, &Callbacks.OnPassword);
            LibSsl.SSL_CTX_set_default_passwd_cb_userdata(context, passwordBytes);
            OpenSslErrors.Clear();
            if (LibSsl.SSL_CTX_use_certificate_chain_file(context, Certificate) != 1)
            {
                throw new TlsException($"'{Certificate}' holds no certificate that OpenSSL takes: {OpenSslErrors.Drain()}.");
            }

            if (LibSsl.SSL_CTX_use_PrivateKey_file(context, Key, SslConstants.FileTypePem) != 1)
            {
                throw new TlsException(DescribeKeyRefusal(OpenSslErrors.Drain()));
            }

            LibSsl.SSL_CTX_set_default_passwd_cb_userdata(context, null);
        }
    }

    private string DescribeKeyRefusal(OpenSslFailure failure)
    {
        if (failure.Has(SslConstants.X509KeyValuesMismatch))
        {
            return $"The key in '{Key}' is not the one of the certificate in '{Certificate}'.";
        }

        byte[] key = CertificateText.ReadFile(Key, "key");
        bool isEncrypted = key.AsSpan().IndexOf("ENCRYPTED"u8) >= 0;
        CryptographicOperations.ZeroMemory(key);
        return isEncrypted && Password is null
                ? $"The key in '{Key}' is encrypted: give its password, or decrypt it with 'openssl pkey -in FILE -out FILE'."
            : isEncrypted ? $"The key in '{Key}' does not open with the password that was given."
            : $"'{Key}' holds no private key in PEM that OpenSSL takes: {failure}.";
    }
}
