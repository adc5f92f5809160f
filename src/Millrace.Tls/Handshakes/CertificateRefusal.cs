using System.Globalization;
using System.Runtime.InteropServices;
using System.Security.Cryptography.X509Certificates;
using Millrace.Tls.Certificates;
using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Handshakes;

/// <summary>Why a server's certificate is refused. Immutable.</summary>
/// <param name="Error">Of OpenSSL's verification.</param>
/// <param name="Depth">0 for the server's own certificate, then that of its authority.</param>
/// <param name="Certificate">The refused one, in DER; empty for none.</param>
internal sealed record CertificateRefusal(int Error, int Depth, byte[] Certificate)
{
    private const int NamesShown = 5;

    /// <summary>Of a verification that has just failed.</summary>
    public static CertificateRefusal Of(nint verification)
    {
        nint certificate = LibCrypto.X509_STORE_CTX_get_current_cert(verification);
        return new CertificateRefusal(
            LibCrypto.X509_STORE_CTX_get_error(verification),
            LibCrypto.X509_STORE_CTX_get_error_depth(verification),
            certificate == 0 ? [] : TlsSession.BytesOf(certificate));
    }

    /// <summary>Cause and remedy.</summary>
    public string Describe(TlsTarget target)
    {
        if (Certificate.Length == 0)
        {
            return $"the certificate of {target.Text} is refused: {Reason()}";
        }

        using X509Certificate2 certificate = X509CertificateLoader.LoadCertificate(Certificate);
        string whose = Depth == 0
            ? $"the certificate of {target.Text}"
            : $"a certificate in the chain of {target.Text} ({certificate.Subject})";
        return Error switch
        {
            SslConstants.CertificateExpired => $"{whose} expired on {Date(certificate.NotAfter)}: renew it there",
            SslConstants.CertificateNotYetValid => $"{whose} is not valid before {Date(certificate.NotBefore)}: check the clocks",
            SslConstants.HostMismatch or SslConstants.AddressMismatch => $"{whose} is for {NamesOf(certificate)} and not for "
                + $"'{target.Host}': correct the upstream's name, or have the certificate issued for it",
            SslConstants.CertificateSelfSigned => $"{whose} is self-signed: if it is the right one, trust it with --proxy-ca FILE",
            SslConstants.RootNotTrusted => $"{whose} is of an unknown authority: if it is the right one, trust it with --proxy-ca FILE",
            SslConstants.IssuerUnknown or SslConstants.IssuerMissing => $"{whose} is of an unknown authority ({certificate.Issuer}): trust "
                + "it with --proxy-ca FILE, or have the server send its whole chain",
            _ => $"{whose} is refused: {Reason()}",
        };
    }

    private static string Date(DateTime time) => time.ToUniversalTime().ToString("yyyy-MM-dd HH:mm'Z'", CultureInfo.InvariantCulture);

    private static string NamesOf(X509Certificate2 certificate)
    {
        var facts = CertificateFacts.Of(certificate);
        bool hasNames = certificate.Extensions.OfType<X509SubjectAlternativeNameExtension>().Any();
        string[] names = [.. facts.Names, .. facts.Addresses.Select(static address => address.ToString())];
        return hasNames
            ? string.Join(", ", names.Take(NamesShown)) + (names.Length > NamesShown ? ", ..." : "")
            : "no host (a common name does not count)";
    }

    private unsafe string Reason() => Marshal.PtrToStringUTF8((nint)LibCrypto.X509_verify_cert_error_string(Error)) ?? $"error {Error}";
}
