using System.Net;

namespace Millrace.Engine.Proxies;

/// <summary>
/// Whom listeners believe who is at the other end, and what becomes of those who are not believed. Shared by all reactors; any thread.
/// </summary>
/// <param name="trusted">
/// The networks that proxies connect from. Who connects by a unix socket is trusted: its file's mode says who may.
/// </param>
/// <param name="prefaceMs">How long a preface may take: a proxy sends it with its first packet.</param>
internal sealed class ProxyGate(IReadOnlyList<IPNetwork> trusted, int prefaceMs = ProxyGate.DefaultPrefaceMs)
{
    /// <summary>A packet that is lost comes again, and that one too, within so long.</summary>
    public const int DefaultPrefaceMs = 5_000;

    private readonly LinePace _lines = new();
    private readonly IPNetwork[] _trusted = [.. trusted];
    private long _refused;
    private long _refusedTold;

    public int PrefaceMs => prefaceMs;

    /// <summary>Connections that were ended because of what came before their first byte, or of who sent it.</summary>
    public long Refused => Interlocked.Read(ref _refused);

    /// <summary>Whether what this peer says of others is believed.</summary>
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

    /// <summary>Counts one that is ended, and has it logged with those since the last line: anybody can make thousands.</summary>
    public void NoteRefused(Reactor reactor, EndPoint? peer, string reason)
    {
        long refused = Interlocked.Increment(ref _refused);
        if (_lines.Admits(reactor.NowMs))
        {
            reactor.Log.PrefaceRefused(refused - Interlocked.Exchange(ref _refusedTold, refused), peer, reason);
        }
    }
}
