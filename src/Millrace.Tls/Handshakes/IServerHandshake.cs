using Millrace.Tls.Certificates;

namespace Millrace.Tls.Handshakes;

/// <summary>What OpenSSL's callbacks need of a server's connection. Nothing throws: the callers are within OpenSSL.</summary>
internal interface IServerHandshake
{
    TlsTerminator Terminator { get; }

    /// <summary>The certificates to choose from by SNI; null where there is no choice.</summary>
    CertificateSet? Certificates { get; }

    /// <summary>The protocols to choose from by ALPN.</summary>
    IReadOnlyList<ApplicationProtocol> Protocols { get; }

    /// <summary>The hosts of the certificate that was chosen.</summary>
    CertificateNames? CertificateNames { set; }

    /// <summary>The protocol that was chosen.</summary>
    string? ApplicationProtocol { set; }

    /// <summary>The ClientHello has come, and nothing of it is decided. Returns a result of the callback for it.</summary>
    int InspectHello(nint ssl, out int alert);
}
