using Microsoft.Extensions.Logging;
using Millrace.Server.Https;
using Millrace.Tls;

namespace Millrace.Server.Serving;

/// <summary>
/// TLS as it is told now. One that was replaced is kept to the end: connections may still speak by it, and nobody counts them. One
/// thread at a time.
/// </summary>
internal sealed class HttpsFronts(ILoggerFactory logging) : IDisposable
{
    private readonly List<(HttpsOptions Told, HttpsFront Front)> _all = [];

    /// <summary>The one for these options; null where no HTTPS is asked for. One that was there before is taken again.</summary>
    /// <exception cref="TlsException">The certificates cannot be served with; the message says why.</exception>
    public HttpsFront? Open(HttpsOptions told)
    {
        HttpsFront? front = _all.Find(one => one.Told.IsSpokenLike(told)).Front;
        if (front is null && HttpsFront.Open(told, logging) is { } opened)
        {
            front = opened;
            _all.Add((told, opened));
        }

        return told.Addresses.Count > 0 ? front : null;
    }

    public void Dispose() => _all.ForEach(static one => one.Front.Dispose());
}
