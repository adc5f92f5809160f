namespace Millrace.Engine;

/// <summary>
/// What a reactor counts. Written by its thread only, what was sent elsewhere atomically by any, the last ones by the watch's; read from
/// others without a lock, so a reading may lag.
/// </summary>
internal sealed class ReactorCounters
{
    public long Accepted;

    /// <summary>Connections beyond a limit that were reset at once.</summary>
    public long Shed;

    /// <summary>Connections beyond a limit that their listener's refusal answered, and requests refused for lack of memory.</summary>
    public long Refused;

    /// <summary>Connections reset because there was no memory for what they wanted.</summary>
    public long Starved;

    /// <summary>Reads of files that failed, other than by cancellation.</summary>
    public long FileFaults;

    /// <summary>Connections reset because their peer took too little.</summary>
    public long Stalled;

    /// <summary>Of connections, encrypted where they are.</summary>
    public long BytesReceived;
    public long BytesSent;

    /// <summary>Of them what other threads have sent, which have no other place: the kernel took it from where it was written.</summary>
    public long BytesSentElsewhere;
    public long Turns;
    public long Completions;
    public long ReceivesParked;
    public long Posts;

    /// <summary>Callbacks that kept the reactor for 10 ms and more.</summary>
    public long Stalls;

    /// <summary>Those of 100 ms and more among them.</summary>
    public long HoldUps;

    /// <summary>Waits for the reactor, within it, that were ended.</summary>
    public long WaitsFailed;
}
