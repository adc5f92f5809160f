namespace Millrace.HttpServer.Upstreams;

/// <summary>One reactor's connections to one address: their number, and the idle ones. Owned by the pool. Reactor thread.</summary>
/// <param name="peer">The address.</param>
/// <param name="counters">Those of its target.</param>
internal sealed class PeerConnections(UpstreamPeer peer, UpstreamCounters counters)
{
    /// <summary>The one that was used last is at the end, and is taken first: the others may then time out.</summary>
    private readonly List<UpstreamConnection> _idle = [];

    public UpstreamPeer Peer { get; } = peer;

    public UpstreamCounters Counters { get; } = counters;

    /// <summary>Connections and attempts.</summary>
    public int Count { get; set; }

    public int Idle => _idle.Count;

    /// <summary>The address is gone: its connections close when their exchange is over.</summary>
    public bool IsGone { get; private set; }

    public void AddIdle(UpstreamConnection connection) => _idle.Add(connection);

    public bool RemoveIdle(UpstreamConnection connection) => _idle.Remove(connection);

    public UpstreamConnection? TakeIdle()
    {
        if (_idle.Count == 0)
        {
            return null;
        }

        UpstreamConnection last = _idle[^1];
        _idle.RemoveAt(_idle.Count - 1);
        return last;
    }

    public UpstreamConnection? Oldest() => _idle.Count == 0 ? null : _idle[0];

    public void Leave()
    {
        IsGone = true;
        CloseIdle();
    }

    public void CloseIdle()
    {
        // Each removes itself.
        foreach (UpstreamConnection idle in _idle.ToArray())
        {
            idle.Close(withReset: false);
        }
    }
}
