using System.Net;
using System.Security.Authentication;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Transport;
using Millrace.Tls;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// An endpoint whose TLS Millrace is to terminate. Created while Kestrel is configured; by the time a terminator is requested, the
/// configuration no longer changes. Not thread-safe; its owner serializes calls.
/// </summary>
internal sealed class HttpsEndPoint(ListenOptions listenOptions, MillraceHttpsOptions options) : IDisposable
{
    private readonly EndPoint _endPoint = listenOptions.EndPoint;
    private readonly ListenOptions _listenOptions = listenOptions;

    private bool _isLeftToKestrel;
    private int _listeners;
    private TlsTerminator? _terminator;
    private CertificateWatch? _watch;

    /// <summary>Whether both were created for the same endpoint.</summary>
    public bool IsSameEndPoint(HttpsEndPoint other) => _listenOptions == other._listenOptions;

    /// <summary>
    /// Whether this may be the endpoint that is bound: it is by Kestrel's build order, unless other code built it. Kestrel creates new
    /// objects when it binds "localhost", twice, and "any", perhaps as IPv4.
    /// </summary>
    public bool Matches(EndPoint bound) => ReferenceEquals(bound, _endPoint)
        || (bound is IPEndPoint ip && _endPoint is IPEndPoint named && ip.Port == named.Port
            && (ip.Port != 0 || named.Address.Equals(IPAddress.IPv6Any)));

    /// <summary>
    /// Returns the terminator for one more listener; listeners share it until all have returned it. Null if Kestrel terminates TLS, with a
    /// warning the first time.
    /// </summary>
    public TlsTerminator? Take(ILoggerFactory logs, TransportLog log, ConnectionQuota? places)
    {
        if (_terminator is null && !_isLeftToKestrel)
        {
            Begin(logs, log, places);
            _isLeftToKestrel = _terminator is null;
        }

        _listeners += _terminator is null ? 0 : 1;
        return _terminator;
    }

    /// <summary>
    /// Returns a listener's reference. True for the last one: no new connections arrive, and existing ones hold what they need themselves.
    /// </summary>
    public bool ReturnIsLast()
    {
        if (--_listeners > 0)
        {
            return false;
        }

        Dispose();
        return true;
    }

    /// <summary>Stops reloading certificates.</summary>
    public void StopWatch() => _watch?.Dispose();

    /// <summary>Releases the terminator after the last listener; a later listener creates a new one.</summary>
    public void Dispose()
    {
        StopWatch();
        _terminator?.Dispose();
        (_watch, _terminator) = (null, null);
    }

    private void Begin(ILoggerFactory logs, TransportLog log, ConnectionQuota? places)
    {
        if (UnsupportedOption() is { } unsupported)
        {
            log.TlsLeft(_endPoint, unsupported);
            return;
        }

        TlsOptions tls = ToTlsOptions() with { Quota = places };
        try
        {
            _terminator = TlsTerminator.Create(tls, logs);
        }
        catch (TlsException refusal)
        {
            log.TlsLeft(_endPoint, refusal.Message.TrimEnd('.'));
            return;
        }

        CertificateFiles[] files = [.. tls.Certificates.OfType<CertificateFiles>()];
        if (files.Length > 0 && options.CertificateCheckInterval > TimeSpan.Zero)
        {
            _watch = new CertificateWatch(files, _terminator, options.CertificateCheckInterval);
        }
    }

    /// <summary>The configured option that SslStream supports and the transport's TLS filter does not.</summary>
    private string? UnsupportedOption() => this switch
    {
        _ when options.ServerCertificateSelector is not null =>
            $"certificates are chosen by a {nameof(options.ServerCertificateSelector)}; list them in {nameof(options.Certificates)}",
        _ when options.OnAuthenticate is not null => $"{nameof(options.OnAuthenticate)} needs SslStream",
        _ when options.TlsClientHelloBytesCallback is not null => $"{nameof(options.TlsClientHelloBytesCallback)} is set",
        _ when options.ClientCertificateMode == ClientCertificateMode.DelayCertificate =>
            $"{nameof(options.ClientCertificateMode)} is {nameof(ClientCertificateMode.DelayCertificate)}",
        _ when MinimumVersion is null => $"Millrace supports TLS 1.2 with 1.3, or 1.3 alone, not {options.SslProtocols}",
        _ => null,
    };

#pragma warning disable CA5398 // Compared with the application's choice; nothing is chosen here.
    private TlsVersion? MinimumVersion => options.SslProtocols switch
    {
        SslProtocols.None or (SslProtocols.Tls12 | SslProtocols.Tls13) => TlsVersion.Tls12,
        SslProtocols.Tls13 => TlsVersion.Tls13,
        _ => null,
    };
#pragma warning restore CA5398

    private TlsOptions ToTlsOptions() => new()
    {
        Certificates = options.Certificates.Count > 0
            ? [.. options.Certificates]
            : [new LoadedCertificate(options.ServerCertificate!, options.ServerCertificateChain is { } chain ? [.. chain] : null)],
        ApplicationProtocols = [.. ProtocolsOf(_listenOptions.Protocols)],
        MinimumVersion = MinimumVersion!.Value,
        ClientCertificates = options.ClientCertificateMode switch
        {
            ClientCertificateMode.RequireCertificate => ClientCertificates.Required,
            ClientCertificateMode.AllowCertificate => ClientCertificates.Optional,
            _ => ClientCertificates.None,
        },
        HandshakeTimeout = options.HandshakeTimeout,
        KeyLogFile = options.KeyLogFile,
        TruncationPolicy = TruncationPolicy.IsEnd,
    };

    /// <summary>ALPN identifiers (RFC 7301, RFC 9113) in Kestrel's order.</summary>
    private static IEnumerable<string> ProtocolsOf(HttpProtocols protocols)
    {
        if (protocols.HasFlag(HttpProtocols.Http2))
        {
            yield return "h2";
        }

        if (protocols.HasFlag(HttpProtocols.Http1))
        {
            yield return "http/1.1";
        }
    }
}
