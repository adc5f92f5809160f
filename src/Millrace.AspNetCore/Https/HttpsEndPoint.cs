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
/// An address whose TLS Millrace is to terminate. It is made while Kestrel is configured; by the time it is asked for a terminator, nothing
/// of the configuration changes any more. Its owner calls it by one thread at a time.
/// </summary>
internal sealed class HttpsEndPoint(ListenOptions listenOptions, MillraceHttpsOptions options) : IDisposable
{
    private readonly EndPoint _endPoint = listenOptions.EndPoint;
    private readonly ListenOptions _listenOptions = listenOptions;

    private bool _isLeft;
    private int _listeners;
    private TlsTerminator? _terminator;
    private CertificateWatch? _watch;

    /// <summary>Whether both were made for one address.</summary>
    public bool IsBeside(HttpsEndPoint other) => _listenOptions == other._listenOptions;

    /// <summary>
    /// Whether this may be what is bound: by what Kestrel has built it is, unless somebody else has built it. "Localhost" is bound twice,
    /// and "any" perhaps as IPv4, by objects that Kestrel makes when it does.
    /// </summary>
    public bool MayBe(EndPoint bound) => ReferenceEquals(bound, _endPoint)
        || (bound is IPEndPoint ip && _endPoint is IPEndPoint named && ip.Port == named.Port
            && (ip.Port != 0 || named.Address.Equals(IPAddress.IPv6Any)));

    /// <summary>
    /// The terminator, the same for all listeners at a time, for one more until it is given back; null, with a warning at the first, where
    /// Kestrel terminates TLS.
    /// </summary>
    public TlsTerminator? Take(ILoggerFactory logs, TransportLog log, ConnectionPlaces? places)
    {
        if (_terminator is null && !_isLeft)
        {
            Begin(logs, log, places);
            _isLeft = _terminator is null;
        }

        _listeners += _terminator is null ? 0 : 1;
        return _terminator;
    }

    /// <summary>True for the last listener: nobody comes any more, and what connections still need they hold themselves.</summary>
    public bool IsLastToReturn()
    {
        if (--_listeners > 0)
        {
            return false;
        }

        Dispose();
        return true;
    }

    /// <summary>From here on its certificates stay as they are.</summary>
    public void EndWatch() => _watch?.Dispose();

    /// <summary>No listener uses the terminator any more; another one would have a new one.</summary>
    public void Dispose()
    {
        EndWatch();
        _terminator?.Dispose();
        (_watch, _terminator) = (null, null);
    }

    private void Begin(ILoggerFactory logs, TransportLog log, ConnectionPlaces? places)
    {
        if (Obstacle() is { } obstacle)
        {
            log.TlsLeft(_endPoint, obstacle);
            return;
        }

        TlsOptions tls = ToTlsOptions() with { Places = places };
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

    /// <summary>What was asked for that an SslStream can do and the stage of a connection cannot.</summary>
    private string? Obstacle() => this switch
    {
        _ when options.ServerCertificateSelector is not null =>
            $"certificates are chosen by a {nameof(options.ServerCertificateSelector)}; list them in {nameof(options.Certificates)}",
        _ when options.OnAuthenticate is not null => $"{nameof(options.OnAuthenticate)} wants an SslStream's options",
        _ when options.TlsClientHelloBytesCallback is not null => $"{nameof(options.TlsClientHelloBytesCallback)} is set",
        _ when options.ClientCertificateMode == ClientCertificateMode.DelayCertificate => "client certificates are to be asked for later",
        _ when MinimumVersion is null => $"Millrace speaks TLS 1.2 with 1.3, or 1.3 alone, and not {options.SslProtocols}",
        _ => null,
    };

#pragma warning disable CA5398 // These are compared with what the application has chosen; nothing is chosen here.
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
        ApplicationProtocols = [.. NegotiatedProtocols.Of(_listenOptions.Protocols)],
        MinimumVersion = MinimumVersion!.Value,
        ClientCertificates = options.ClientCertificateMode switch
        {
            ClientCertificateMode.RequireCertificate => ClientCertificates.Required,
            ClientCertificateMode.AllowCertificate => ClientCertificates.Optional,
            _ => ClientCertificates.None,
        },
        HandshakeTimeout = options.HandshakeTimeout,
        KeyLogFile = options.KeyLogFile,
        CutStream = CutStream.IsEnd,
    };
}
