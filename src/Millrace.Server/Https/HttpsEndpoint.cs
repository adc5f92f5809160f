using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.HttpServer;
using Millrace.HttpServer.Heads;
using Millrace.Server.Serving;
using Millrace.Server.Terminal;
using Millrace.Tls;
using Millrace.Tls.Certificates;

namespace Millrace.Server.Https;

/// <summary>
/// TLS for the sites: certificates, and the session for each negotiated protocol. One thread at a time, except where members say more.
/// </summary>
internal sealed class HttpsEndpoint : IDisposable
{
    /// <summary>
    /// The protocols offered by ALPN, in order of preference, and their sessions. The last one also serves clients without ALPN.
    /// </summary>
    private static readonly (string Name, Serve Serve)[] Protocols =
    [
        ("h2", static (sites, connection, isCovered, alternative) => sites.ServeHttp2Async(connection, isCovered, alternative)),
        ("http/1.1", static (sites, connection, isCovered, alternative) => sites.ServeAsync(connection, isCovered, alternative)),
    ];

    private readonly IReadOnlyList<CertificateFiles> _configured;
    private readonly string? _localFolder;
    private IReadOnlyList<CertificateFiles> _obtained = [];
    private IReadOnlyList<ServedCertificate> _certificates = [];

    private HttpsEndpoint(
        TlsTerminator terminator,
        TlsTerminator? quicTerminator,
        IReadOnlyList<CertificateFiles> configured,
        LocalCertificate? local,
        string? localFolder)
    {
        Terminator = terminator;
        QuicTerminator = quicTerminator;
        Local = local;
        _configured = configured;
        _localFolder = localFolder;
        Read();
    }

    public TlsTerminator Terminator { get; }

    /// <summary>The same certificates for HTTP/3; null if it is not served.</summary>
    public TlsTerminator? QuicTerminator { get; }

    /// <summary>The generated certificate, if none is configured. It is served while there is no other.</summary>
    public LocalCertificate? Local { get; }

    /// <summary>The certificates in use. Replaced as a whole; any thread.</summary>
    public IReadOnlyList<ServedCertificate> Certificates => Volatile.Read(ref _certificates);

    /// <summary>Reads the certificates; null if HTTPS is not configured.</summary>
    /// <exception cref="TlsException">The certificates cannot be used; the message says why.</exception>
    /// <param name="options">The certificates, and what is asked of clients.</param>
    /// <param name="logging">Receives what TLS logs.</param>
    /// <param name="localFolder">The folder of the local certificate; null for the user's data folder.</param>
    /// <param name="challenges">Finds the certificate for the validation of a host by a certificate authority.</param>
    public static HttpsEndpoint? Open(
        HttpsOptions options,
        ILoggerFactory logging,
        string? localFolder = null,
        Func<string, ValueTask<LoadedCertificate?>>? challenges = null)
    {
        if (options.Addresses.Count == 0)
        {
            return null;
        }

        LocalCertificate? made = options.Certificates.Count == 0 ? LocalCertificate.FindOrMake(localFolder) : null;
        IReadOnlyList<CertificateFiles> files = made is null ? options.ReadCertificates() : [made.Files];
        var tls = new TlsOptions
        {
            Certificates = files,
            ApplicationProtocols = [.. Protocols.Select(static protocol => protocol.Name)],
            ClientCertificates = options.ClientAuthorities is null ? ClientCertificates.None : ClientCertificates.Required,
            ClientAuthoritiesFile = options.ClientAuthorities,
            KeyLogFile = options.KeyLog,
            ChallengeCertificates = challenges,
        };
        (TlsTerminator terminator, TlsTerminator? quic) = CreateTerminators(tls, options.Http3, logging);
        var endpoint = new HttpsEndpoint(terminator, quic, made is null ? files : [], made, localFolder);
        if (made?.RenewalRefusal is { } refusal)
        {
            new ServerLog(logging.CreateLogger(Server.LogCategory)).LocalCertificateDue(endpoint.Certificates[0].Date, refusal);
        }

        return endpoint;
    }

    /// <summary>
    /// Loads the configured certificates as a server would. Only a server creates the local certificate, and the file of TLS secrets.
    /// </summary>
    /// <exception cref="TlsException">The certificates cannot be used; the message says why.</exception>
    public static IReadOnlyList<ServedCertificate> Check(HttpsOptions options, ILoggerFactory logging)
    {
        HttpsOptions checkedAlone = options with { KeyLog = null, Http3 = false };
        using HttpsEndpoint? endpoint = options.Certificates.Count == 0 ? null : Open(checkedAlone, logging);
        return endpoint?.Certificates ?? [];
    }

    /// <summary>
    /// Whether the password files still have the passwords in use. True if they cannot be read, for example by the current user: that must
    /// not prevent the remaining reload.
    /// </summary>
    public bool HasPasswordsOf(HttpsOptions configured)
    {
        try
        {
            return configured.Certificates.Count == 0 || configured.ReadCertificates().SequenceEqual(_configured);
        }
        catch (TlsException)
        {
            return true;
        }
    }

    /// <summary>
    /// Reloads the certificates, a generated one that is due after it was replaced. False, and logged: the current ones stay.
    /// </summary>
    public bool Reload()
    {
        bool isDue = Certificates.Any(static one => one.IsLocal && LocalCertificate.IsDue(one.Expiry));
        if (isDue && RefusalOfRenewal() is { } refusal)
        {
            Terminator.Log.CertificatesKept($"{refusal} Or restart: at a start it is written before --user takes effect.");
            return false;
        }

        bool isReloaded = Terminator.TryReload() && QuicTerminator?.TryReload() != false;
        if (isReloaded)
        {
            Read();
        }

        return isReloaded;
    }

    /// <summary>
    /// Serves certificates that were obtained, after those that are configured. The local one stays until all are there.
    /// </summary>
    /// <returns>False: they cannot be loaded, and those in use stay.</returns>
    public bool Use(IReadOnlyList<CertificateFiles> obtained, bool isComplete)
    {
        if (obtained.Count == 0 && _obtained.Count == 0)
        {
            return true;
        }

        CertificateFiles[] next =
        [
            .. _configured, .. obtained,
            .. Local is not null && !(isComplete && obtained.Count > 0) ? (CertificateFiles[])[Local.Files] : [],
        ];
        if (!Terminator.TryReplaceCertificates(next) || QuicTerminator?.TryReplaceCertificates(next) == false)
        {
            return false;
        }

        _obtained = obtained;
        Read();
        return true;
    }

    public void Dispose()
    {
        QuicTerminator?.Dispose();
        Terminator.Dispose();
    }

    /// <summary>Serves a connection after its handshake, with the negotiated protocol.</summary>
    public static Task ServeAsync(Connection connection, StaticSiteServer sites, EndpointTarget target)
    {
        string? agreed = connection.GetApplicationProtocol();
        bool isForItsHostsOnly = target.HostCheck.AppliesTo(connection);
        Func<ReadOnlySpan<byte>, bool>? isCovered = isForItsHostsOnly ? connection.GetCertificateNames()?.IsCovered : null;
        foreach ((string name, Serve serve) in Protocols)
        {
            if (name == agreed)
            {
                return serve(sites, connection, isCovered, target.Alternative);
            }
        }

        return Protocols[^1].Serve(sites, connection, isCovered, target.Alternative);
    }

    /// <summary>
    /// The certificates are read once more for QUIC, whose contexts of OpenSSL have other settings. What is to be said of them is logged
    /// once.
    /// </summary>
    private static (TlsTerminator OfTcp, TlsTerminator? OfQuic) CreateTerminators(TlsOptions tls, bool http3, ILoggerFactory logging)
    {
        var terminator = TlsTerminator.Create(tls, logging);
        try
        {
            return (terminator, http3 ? TlsTerminator.Create(QuicOptionsOf(tls), new ErrorLoggerFactory(logging)) : null);
        }
        catch
        {
            terminator.Dispose();
            throw;
        }
    }

    /// <summary>An authority validates over TCP.</summary>
    private static TlsOptions QuicOptionsOf(TlsOptions tls) => tls with
    {
        ServesQuic = true,
        ApplicationProtocols = ["h3"],
        MinimumVersion = TlsVersion.Tls13,
        ChallengeCertificates = null,
    };

    private string? RefusalOfRenewal()
    {
        try
        {
            return LocalCertificate.FindOrMake(_localFolder).RenewalRefusal;
        }
        catch (TlsException refusal)
        {
            return refusal.Message;
        }
    }

    private void Read()
    {
        CertificateSet current = Terminator.Certificates.Acquire();
        try
        {
            Volatile.Write(
                ref _certificates,
                [.. current.Loaded.Select(loaded => ServedCertificate.Of(loaded.Source, loaded.Facts, OriginOf(loaded.Source)))]);
        }
        finally
        {
            current.Release();
        }
    }

    private CertificateOrigin OriginOf(string file) =>
        file == Local?.Files.Certificate ? CertificateOrigin.Local
        : _obtained.Any(one => one.Certificate == file) ? CertificateOrigin.Authority
        : CertificateOrigin.Files;

    private delegate Task Serve(
        StaticSiteServer sites, Connection connection, Func<ReadOnlySpan<byte>, bool>? isCovered, AlternativeService? alternative);
}
