using System.Collections.Immutable;

namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// What one reactor has done with one target, or, for what concerns no single one, such as the queue, with its group. All of the reactor's
/// pools that have the target share them. Written by the reactor's thread only; others read without a lock, so a reading may lag.
/// </summary>
/// <param name="upstream">The text of the target, or of the group.</param>
internal sealed class UpstreamCounters(string upstream)
{
    /// <summary>Requests that were sent, second attempts among them.</summary>
    public long Requests;

    /// <summary>Exchanges that had no response, or not all of it; those that were released early are not among them.</summary>
    public long Failed;

    public long Connects;
    public long ConnectsFailed;

    /// <summary>Requests that were sent on a connection that had served another one.</summary>
    public long Reused;

    /// <summary>Requests that were sent again because the reused connection had ended.</summary>
    public long Retried;

    /// <summary>Exchanges that were refused because the queue was full, or that waited in it for too long.</summary>
    public long QueueRefused;

    /// <summary>Exchanges that failed by a deadline of the upstream.</summary>
    public long TimedOut;

    /// <summary>Responses with a framing fault, and bytes on idle connections.</summary>
    public long Malformed;

    /// <summary>Now: connections, those of them that are idle, and exchanges that wait for one.</summary>
    public int Connections;
    public int Idle;
    public int Waiting;

    public string Upstream { get; } = upstream;

    public void Add(UpstreamCounters other)
    {
        Requests += other.Requests;
        Failed += other.Failed;
        Connects += other.Connects;
        ConnectsFailed += other.ConnectsFailed;
        Reused += other.Reused;
        Retried += other.Retried;
        QueueRefused += other.QueueRefused;
        TimedOut += other.TimedOut;
        Malformed += other.Malformed;
        Connections += other.Connections;
        Idle += other.Idle;
        Waiting += other.Waiting;
    }
}

/// <summary>
/// The counters of all reactors, one of each for a text of an upstream. They stay when a configuration drops an upstream: what is counted
/// never goes backwards. Any thread.
/// </summary>
internal sealed class UpstreamCounterTable
{
    private ImmutableArray<UpstreamCounters> _all = [];

    public ImmutableArray<UpstreamCounters> All => _all;

    public void Add(UpstreamCounters counters) =>
        ImmutableInterlocked.Update(ref _all, static (all, added) => all.Add(added), counters);
}
