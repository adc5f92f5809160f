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

    /// <summary>"localhost" is bound twice, and "any" perhaps as IPv4, by objects that Kestrel makes when it does.</summary>
    private readonly bool _isLocalhost = listenOptions.ToString()?.Contains("localhost:", StringComparison.Ordinal) == true;

    private bool _isDecided;
    private TlsTerminator? _terminator;
    private CertificateWatch? _watch;

    /// <summary>Whether this is what Kestrel binds for it.</summary>
    public bool IsFor(EndPoint bound)
    {
        if (ReferenceEquals(bound, _endPoint))
        {
            return true;
        }

        // With a port of its own an address is bound once: no other can be meant.
        return bound is IPEndPoint { Port: not 0 } ip && _endPoint is IPEndPoint named && ip.Port == named.Port
            && (ip.Address.Equals(named.Address)
                || (_isLocalhost && IPAddress.IsLoopback(ip.Address))
                || (named.Address.Equals(IPAddress.IPv6Any) && ip.Address.Equals(IPAddress.Any)));
    }

    /// <summary>The terminator, the same each time; null, with a warning at the first, where Kestrel terminates TLS.</summary>
    public TlsTerminator? Terminate(ILoggerFactory logs, TransportLog log, ConnectionPlaces? places)
    {
        if (!_isDecided)
        {
            _isDecided = true;
            if (Obstacle() is { } obstacle)
            {
                log.TlsLeft(_endPoint, obstacle);
            }
            else
            {
                Begin(logs, log, places);
            }
        }

        return _terminator;
    }

    /// <summary>From here on its certificates stay as they are.</summary>
    public void EndWatch() => _watch?.Dispose();

    /// <summary>Nobody uses the terminator any more.</summary>
    public void Dispose()
    {
        EndWatch();
        _terminator?.Dispose();
    }

    private void Begin(ILoggerFactory logs, TransportLog log, ConnectionPlaces? places)
    {
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
        ApplicationProtocols = [.. NegotiatedProtocols.Of(listenOptions.Protocols)],
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
