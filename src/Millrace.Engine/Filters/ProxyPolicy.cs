using System.Net;
using Millrace.Interop;

namespace Millrace.Engine.Filters;

/// <summary>
/// The proxies whose PROXY headers are trusted, and the handling of other peers. Shared by all reactors; any thread.
/// </summary>
/// <param name="trusted">
/// The networks that proxies connect from. Peers on a unix socket are trusted: its file's mode restricts them.
/// </param>
/// <param name="prefaceMs">The time limit for a header, which a proxy sends with its first packet.</param>
internal sealed class ProxyPolicy(IReadOnlyList<IPNetwork> trusted, int prefaceMs = ProxyPolicy.DefaultPrefaceMs)
{
    /// <summary>A lost packet is sent again within this time, and once more if that is lost too.</summary>
    public const int DefaultPrefaceMs = 5_000;

    private readonly LogRateLimiter _lines = new();
    private readonly IPNetwork[] _trusted = [.. trusted];
    private long _refused;
    private long _refusedReported;

    public int PrefaceMs => prefaceMs;

    /// <summary>Connections closed because of a missing or malformed header, or of an untrusted peer.</summary>
    public long Refused => Interlocked.Read(ref _refused);

    public bool Trusts(IPAddress peer)
    {
        IPAddress address = peer.IsIPv4MappedToIPv6 ? peer.MapToIPv4() : peer;
        foreach (IPNetwork network in _trusted)
        {
            if (network.Contains(address))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>
    /// Counts a refused connection and logs it, rate-limited, with the number since the last line: any client can cause thousands.
    /// </summary>
    public void NoteRefused(Reactor reactor, EndPoint? peer, string reason)
    {
        long refused = Interlocked.Increment(ref _refused);
        if (_lines.Admits(reactor.NowMs))
        {
            reactor.Log.PrefaceRefused(refused - Interlocked.Exchange(ref _refusedReported, refused), peer, reason);
        }
    }
}
