using Millrace.Engine;
using Millrace.HttpServer.Clients;
using Millrace.QuicTransport;
using Millrace.Server.Configuration;
using Millrace.Server.Proxies;
using Millrace.Tls;
using Millrace.Tls.Certificates;
using Millrace.Tls.Quic;

namespace Millrace.Server.Https;

/// <summary>
/// Decides whether a request over TLS must be for a host that the connection's certificate covers (RFC 9110, section 7.4): otherwise a
/// client that verified one host would be served another. Immutable; any thread.
/// </summary>
/// <param name="isOn">Whether the check is enabled.</param>
/// <param name="proxies">Trusted proxies are exempt, as they may use one connection for all hosts.</param>
internal sealed class CertificateHostCheck(bool isOn, ProxyOptions proxies)
{
    private readonly TrustedPeers _trusted = new(proxies);
    private readonly bool _mayTrust = proxies.Trusted.Count > 0 || proxies.TrustsUnix;

    /// <summary>Not without certificates of an authority.</summary>
    public static CertificateHostCheck Of(ServeOptions options) => new(
        options.Https.HostCheck switch
        {
            HostCheckMode.On => true,
            HostCheckMode.Off => false,
            _ => options.Hosts.Count > 0 && (options.Https.CertificatePaths.Count > 0 || options.Acme.IsOn),
        },
        options.Proxies);

    /// <summary>
    /// Whether the check applies to the requests of a connection: not if it has the local certificate, which clients do not verify. Reactor
    /// thread.
    /// </summary>
    public bool AppliesTo(Connection connection) => isOn && !(_mayTrust && _trusted.Trusts(connection.KeepRemoteEndPoint()))
        && IsVerified(connection.GetCertificateNames());

    /// <summary>
    /// The same for HTTP/3: whether the connection's certificate covers a host, or null if the connection is for all hosts. Reactor thread,
    /// after the handshake.
    /// </summary>
    public Func<ReadOnlySpan<byte>, bool>? OfQuic(QuicServerConnection connection)
    {
        CertificateNames? names = (connection.Handshake as QuicServerHandshake)?.CertificateNames;
        return isOn && !(_mayTrust && _trusted.Trusts(connection.RemoteEndPoint)) && IsVerified(names) ? names?.IsCovered : null;
    }

    /// <summary>Clients do not verify the local certificate.</summary>
    private static bool IsVerified(CertificateNames? names) => names?.IsCovered("localhost"u8) != true;
}

/// <summary>When hosts are compared with certificates.</summary>
internal enum HostCheckMode
{
    /// <summary>If there are several hosts, and certificates for them.</summary>
    Auto,
    On,
    Off,
}
