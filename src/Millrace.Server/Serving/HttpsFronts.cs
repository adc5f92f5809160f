using Microsoft.Extensions.Logging;
using Millrace.Server.Https;
using Millrace.Tls;

namespace Millrace.Server.Serving;

/// <summary>
/// TLS as it is told now. One that was replaced is freed with the last connection that speaks by it. One thread at a time.
/// </summary>
internal sealed class HttpsFronts(ILoggerFactory logging) : IDisposable
{
    private HttpsOptions _told = new();

    /// <summary>What new connections meet; null where no HTTPS is asked for.</summary>
    public HttpsFront? Current { get; private set; }

    /// <summary>The one for these options, which may be the current one; null where no HTTPS is asked for.</summary>
    /// <exception cref="TlsException">The certificates cannot be served with; the message says why.</exception>
    public HttpsFront? OpenNext(HttpsOptions told) =>
        Current is not null && told.Addresses.Count > 0 && _told.IsSpokenLike(told) && Current.HasPasswordsOf(told)
            ? Current
            : HttpsFront.Open(told, logging);

    /// <summary>Gives up what was opened and is not to be met after all.</summary>
    public void Discard(HttpsFront? next) => Close(next, Current);

    /// <summary>This is the current one; no new connection meets the one before any more.</summary>
    public void Replace(HttpsFront? next, HttpsOptions told)
    {
        HttpsFront? before = Current;
        Current = next;
        _told = told;
        Close(before, next);
    }

    public void Dispose() => Replace(null, _told);

    private static void Close(HttpsFront? front, HttpsFront? kept)
    {
        if (front != kept)
        {
            front?.Dispose();
        }
    }
}
