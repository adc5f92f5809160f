using Millrace.Tls.OpenSsl;

namespace Millrace.Tls.Handshakes;

/// <summary>Why TLS with a server fails, other than by its certificate: cause and remedy.</summary>
internal static class ServerRefusal
{
    public static string Describe(TlsTarget target, OpenSslFailure failure) => $"TLS with {target.Text} failed: {failure}"
        + failure.Codes.Select(code => RemedyOf(code, target)).FirstOrDefault(static remedy => remedy is not null);

    private static string? RemedyOf(ulong code, TlsTarget target) => code switch
    {
        SslConstants.SslWrongVersion or SslConstants.SslPacketTooLong =>
            ": it does not speak TLS on this port, write http:// if it is meant to be plain",
        SslConstants.SslUnsupportedProtocol or SslConstants.SslAlertProtocolVersion =>
            ": it does not speak TLS 1.2 or later, update it",
        SslConstants.SslAlertCertificateRequired or SslConstants.SslAlertBadCertificate =>
            ": it wants a certificate of its client, which is not supported",
        SslConstants.SslAlertUnrecognizedName => $": it does not serve '{target.Host}', correct the upstream's name",
        SslConstants.SslAlertNoProtocol => ": it does not speak HTTP/1.1",
        SslConstants.SslAlertHandshakeFailure =>
            $": it may have no certificate for '{target.Host}', want one of its client, or support none of the ciphers",
        _ => null,
    };
}
