using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.HttpServer;
using Millrace.Server.Serving;
using Millrace.Tls;
using Millrace.Tls.Certificates;

namespace Millrace.Server.Https;

/// <summary>TLS for the sites: certificates, and the session for each negotiated protocol.</summary>
internal sealed class HttpsEndpoint(
    TlsTerminator terminator, IReadOnlyList<CertificateFiles> certificates, LocalCertificate? local) : IDisposable
{
    /// <summary>
    /// The protocols offered by ALPN, in order of preference, and their sessions. The last one also serves clients without ALPN.
    /// </summary>
    private static readonly (string Name, Func<StaticSiteServer, Connection, Func<ReadOnlySpan<byte>, bool>?, Task> Serve)[] Protocols =
    [
        ("h2", static (sites, connection, isCovered) => sites.ServeHttp2Async(connection, isCovered)),
        ("http/1.1", static (sites, connection, isCovered) => sites.ServeAsync(connection, isCovered)),
    ];

    private IReadOnlyList<ServedCertificate> _certificates = ReadCertificates(terminator, local is not null);

    public TlsTerminator Terminator => terminator;

    /// <summary>The generated certificate, if none is configured.</summary>
    public LocalCertificate? Local => local;

    /// <summary>The certificates in use. Replaced as a whole; any thread.</summary>
    public IReadOnlyList<ServedCertificate> Certificates => Volatile.Read(ref _certificates);

    /// <summary>Reads the certificates; null if HTTPS is not configured.</summary>
    /// <exception cref="TlsException">The certificates cannot be used; the message says why.</exception>
    public static HttpsEndpoint? Open(HttpsOptions options, ILoggerFactory logging)
    {
        if (options.Addresses.Count == 0)
        {
            return null;
        }

        LocalCertificate? made = options.Certificates.Count == 0 ? LocalCertificate.FindOrMake() : null;
        IReadOnlyList<CertificateFiles> files = made is null ? options.ReadCertificates() : [made.Files];
        var tls = new TlsOptions
        {
            Certificates = files,
            ApplicationProtocols = [.. Protocols.Select(static protocol => protocol.Name)],
            ClientCertificates = options.ClientAuthorities is null ? ClientCertificates.None : ClientCertificates.Required,
            ClientAuthoritiesFile = options.ClientAuthorities,
            KeyLogFile = options.KeyLog,
        };
        var endpoint = new HttpsEndpoint(TlsTerminator.Create(tls, logging), files, made);
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
        using HttpsEndpoint? endpoint = options.Certificates.Count == 0 ? null : Open(options with { KeyLog = null }, logging);
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
            return configured.Certificates.Count == 0 || configured.ReadCertificates().SequenceEqual(certificates);
        }
        catch (TlsException)
        {
            return true;
        }
    }

    /// <summary>Reloads the certificates, a generated one that is due after it was replaced; on failure the current ones stay.</summary>
    public void Reload()
    {
        bool isDue = Certificates.Any(static one => one.IsLocal && LocalCertificate.IsDue(one.Expiry));
        if (isDue && RefusalOfRenewal() is { } refusal)
        {
            terminator.Log.CertificatesKept($"{refusal} Or restart: at a start it is written before --user takes effect.");
            return;
        }

        if (terminator.TryReload())
        {
            Volatile.Write(ref _certificates, ReadCertificates(terminator, local is not null));
        }
    }

    public void Dispose() => terminator.Dispose();

    /// <summary>Serves a connection after its handshake, with the negotiated protocol.</summary>
    public static Task ServeAsync(Connection connection, StaticSiteServer sites, bool isForItsHostsOnly)
    {
        string? agreed = connection.GetApplicationProtocol();
        Func<ReadOnlySpan<byte>, bool>? isCovered = isForItsHostsOnly ? connection.GetCertificateNames()?.IsCovered : null;
        foreach ((string name, Func<StaticSiteServer, Connection, Func<ReadOnlySpan<byte>, bool>?, Task> serve) in Protocols)
        {
            if (name == agreed)
            {
                return serve(sites, connection, isCovered);
            }
        }

        return Protocols[^1].Serve(sites, connection, isCovered);
    }

    private static string? RefusalOfRenewal()
    {
        try
        {
            return LocalCertificate.FindOrMake().RenewalRefusal;
        }
        catch (TlsException refusal)
        {
            return refusal.Message;
        }
    }

    private static IReadOnlyList<ServedCertificate> ReadCertificates(TlsTerminator terminator, bool isLocal)
    {
        CertificateSet current = terminator.Certificates.Acquire();
        try
        {
            return [.. current.Loaded.Select(loaded => ServedCertificate.Of(loaded.Source, loaded.Facts, isLocal))];
        }
        finally
        {
            current.Release();
        }
    }
}

/// <summary>The current TLS configuration. A replaced one is freed with the last connection that uses it. Not thread-safe.</summary>
internal sealed class HttpsEndpoints(ILoggerFactory logging) : IDisposable
{
    private HttpsOptions _configured = new();
    private volatile HttpsEndpoint? _current;

    /// <summary>TLS of new connections; null without HTTPS. Any thread.</summary>
    public HttpsEndpoint? Current => _current;

    /// <summary>The certificates in use. Any thread.</summary>
    public IReadOnlyList<ServedCertificate> Certificates => _current?.Certificates ?? [];

    /// <summary>Returns TLS for these options, which may be the current one; null without HTTPS.</summary>
    /// <exception cref="TlsException">The certificates cannot be used; the message says why.</exception>
    public HttpsEndpoint? OpenNext(HttpsOptions configured) =>
        Current is not null && configured.Addresses.Count > 0 && _configured.HasSameTls(configured)
            && Current.HasPasswordsOf(configured)
            ? Current
            : HttpsEndpoint.Open(configured, logging);

    /// <summary>Closes one that was opened but will not be used.</summary>
    public void Discard(HttpsEndpoint? next) => Close(next, Current);

    /// <summary>Makes this the current one. No new connection uses the previous one.</summary>
    public void Replace(HttpsEndpoint? next, HttpsOptions configured)
    {
        HttpsEndpoint? before = Current;
        _current = next;
        _configured = configured;
        Close(before, next);
    }

    public void Dispose() => Replace(null, _configured);

    private static void Close(HttpsEndpoint? endpoint, HttpsEndpoint? kept)
    {
        if (endpoint != kept)
        {
            endpoint?.Dispose();
        }
    }
}
