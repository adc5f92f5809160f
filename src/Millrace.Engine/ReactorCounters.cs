namespace Millrace.Engine;

/// <summary>
/// A reactor's counters. Written by its thread only, except <see cref="BytesSentElsewhere"/> (any thread, atomically) and the last three
/// (the watchdog's thread). Others read without a lock, so a reading may lag.
/// </summary>
internal sealed class ReactorCounters
{
    public long Accepted;

    /// <summary>Connections beyond a limit that were reset.</summary>
    public long Shed;

    /// <summary>Connections beyond a limit that the listener's refusal handler served, and requests refused for lack of memory.</summary>
    public long Refused;

    public long Starved;

    /// <summary>File reads that failed, cancellations excluded.</summary>
    public long FileFaults;

    /// <summary>Connections reset because their peer read too slowly.</summary>
    public long Stalled;

    /// <summary>Bytes on the wire (encrypted, with TLS).</summary>
    public long BytesReceived;
    public long BytesSent;

    /// <summary>Bytes that other threads have sent directly; not part of <see cref="BytesSent"/>.</summary>
    public long BytesSentElsewhere;
    public long Iterations;
    public long Completions;
    public long ReceivesStarved;
    public long Posts;

    /// <summary>Time for which a callback owner was seen blocked, sampled every few milliseconds.</summary>
    public long BlockedMs;

    /// <summary>Callbacks that took 100 ms or more.</summary>
    public long Stalls;

    /// <summary>Waits on the reactor's own thread for the reactor that were failed by the watchdog.</summary>
    public long WaitsFailed;
}
