using Microsoft.Extensions.Logging;
using Millrace.Server.Https;
using Millrace.Tls;

namespace Millrace.Server.Serving;

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
