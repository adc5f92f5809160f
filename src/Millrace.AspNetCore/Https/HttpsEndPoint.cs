using System.Security.Authentication;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Https.Acme;
using Millrace.AspNetCore.Multiplexed.Tls;
using Millrace.AspNetCore.Transport;
using Millrace.Tls;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// An endpoint whose TLS Millrace is to terminate. Created while Kestrel is configured; by the time a terminator is requested, the
/// configuration no longer changes. One thread at a time, as Kestrel binds.
/// </summary>
internal sealed class HttpsEndPoint(ListenOptions listenOptions, MillraceHttpsOptions options)
{
    private bool _isLeftToKestrel;

    /// <summary>Whether the transport terminates its TLS, where that serves the endpoint.</summary>
    public bool IsSupported => UnsupportedOption() is null;

    /// <summary>What is served after the configured certificates; null if nothing is obtained.</summary>
    private ObtainedCertificates? Obtained =>
        options.Acme is null ? null : ObtainedCertificates.Of(listenOptions.ApplicationServices);

    /// <summary>The TLS of one listener of the endpoint. Null if Kestrel terminates TLS, with a warning the first time.</summary>
    public ListenerTls? Open(ILoggerFactory logs, TransportLog log, ConnectionQuota? quota) =>
        Open(log, () => Create(logs, certificates => ToTlsOptions(certificates) with { Quota = quota }));

    /// <summary>The same for connections over QUIC.</summary>
    public EndPointTls? OpenMultiplexed(ILoggerFactory logs, TransportLog log) =>
        Open(log, () => Create(logs, ToMultiplexedTlsOptions)) is { } tls
            ? new EndPointTls(tls, ClientCertificateCheck.Of(options))
            : null;

    private ListenerTls? Open(TransportLog log, Func<ListenerTls> create)
    {
        if (_isLeftToKestrel)
        {
            return null;
        }

        string refusal;
        try
        {
            if (UnsupportedOption() is not { } unsupported)
            {
                return create();
            }

            refusal = unsupported;
        }
        catch (TlsException error)
        {
            refusal = error.Message.TrimEnd('.');
        }

        _isLeftToKestrel = true;
        log.TlsLeft(listenOptions.EndPoint, refusal);
        return null;
    }

    private ListenerTls Create(ILoggerFactory logs, Func<IReadOnlyList<ServerCertificate>, TlsOptions> toOptions)
    {
        IReadOnlyList<ServerCertificate> configured = KestrelHttpsOptions.ListCertificates(options);
        TlsTerminator? terminator = null;
        IDisposable? serving = null;
        if (Obtained is { } obtained)
        {
            serving = obtained.Serve(Use);
        }
        else
        {
            Use([]);
        }

        CertificateFiles[] files = [.. configured.OfType<CertificateFiles>()];
        bool isWatched = files.Length > 0 && options.CertificateCheckInterval > TimeSpan.Zero;
        CertificateWatch? watch = isWatched ? new CertificateWatch(files, terminator!, options.CertificateCheckInterval) : null;
        return new ListenerTls(terminator!, watch, serving);

        void Use(IReadOnlyList<ServerCertificate> served)
        {
            ServerCertificate[] all = [.. configured, .. served];
            if (terminator is null)
            {
                terminator = TlsTerminator.Create(toOptions(all), logs);
            }
            else
            {
                terminator.TryReplaceCertificates(all);
            }
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

    private TlsOptions ToTlsOptions(IReadOnlyList<ServerCertificate> certificates) => new()
    {
        Certificates = certificates,
        ApplicationProtocols = [.. ProtocolsOf(listenOptions.Protocols)],
        MinimumVersion = MinimumVersion!.Value,
        ClientCertificates = options.ClientCertificateMode switch
        {
            ClientCertificateMode.RequireCertificate => ClientCertificates.Required,
            ClientCertificateMode.AllowCertificate => ClientCertificates.Optional,
            _ => ClientCertificates.None,
        },
        HandshakeTimeout = options.HandshakeTimeout,
        KeyLogFile = options.KeyLogFile,
        ChallengeCertificates = Obtained is null ? null : Obtained.FindChallengeAsync,
        AcceptsTruncation = true,
    };

    /// <summary>Challenges are answered over TCP only.</summary>
    private TlsOptions ToMultiplexedTlsOptions(IReadOnlyList<ServerCertificate> certificates) => ToTlsOptions(certificates) with
    {
        ApplicationProtocols = ["h3"],
        MinimumVersion = TlsVersion.Tls13,
        ChallengeCertificates = null,
        ServesQuic = true,
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

/// <summary>
/// The TLS of one listener, held from before it is bound until it receives no more connections. Existing connections hold what they need
/// themselves. Any thread.
/// </summary>
internal sealed class ListenerTls(TlsTerminator terminator, CertificateWatch? watch, IDisposable? obtained) : IDisposable
{
    public TlsTerminator Terminator => terminator;

    public void Dispose()
    {
        // First, as they replace the terminator's certificates.
        obtained?.Dispose();
        watch?.Dispose();
        terminator.Dispose();
    }
}
