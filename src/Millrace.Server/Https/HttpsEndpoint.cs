using Microsoft.Extensions.Logging;
using Millrace.Engine;
using Millrace.HttpServer;
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

    public TlsTerminator Terminator => terminator;

    /// <summary>The generated certificate, if none is configured.</summary>
    public LocalCertificate? Local => local;

    /// <summary>The hosts that the current certificates cover.</summary>
    public IReadOnlyList<string> Names
    {
        get
        {
            CertificateSet current = terminator.Certificates.Acquire();
            try
            {
                return [.. current.Names];
            }
            finally
            {
                current.Release();
            }
        }
    }

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
        return new HttpsEndpoint(TlsTerminator.Create(tls, logging), files, made);
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

    /// <summary>Reloads the certificates; on failure the current ones stay.</summary>
    public void Reload() => _ = terminator.TryReload();

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
}

/// <summary>The current TLS configuration. A replaced one is freed with the last connection that uses it. Not thread-safe.</summary>
internal sealed class HttpsEndpoints(ILoggerFactory logging) : IDisposable
{
    private HttpsOptions _configured = new();

    /// <summary>TLS of new connections; null without HTTPS.</summary>
    public HttpsEndpoint? Current { get; private set; }

    /// <summary>Returns TLS for these options, which may be the current one; null without HTTPS.</summary>
    /// <exception cref="TlsException">The certificates cannot be used; the message says why.</exception>
    public HttpsEndpoint? OpenNext(HttpsOptions configured) =>
        Current is not null && configured.Addresses.Count > 0 && _configured.HasSameTls(configured) && Current.HasPasswordsOf(configured)
            ? Current
            : HttpsEndpoint.Open(configured, logging);

    /// <summary>Closes one that was opened but will not be used.</summary>
    public void Discard(HttpsEndpoint? next) => Close(next, Current);

    /// <summary>Makes this the current one. No new connection uses the previous one.</summary>
    public void Replace(HttpsEndpoint? next, HttpsOptions configured)
    {
        HttpsEndpoint? before = Current;
        Current = next;
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
