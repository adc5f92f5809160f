namespace Millrace.Quic.Streams;

/// <summary>What the peer lets this end send, on a stream or on the connection (RFC 9000, section 4.1). One thread.</summary>
internal struct SendWindow(long limit)
{
    /// <summary>The peer's limit: of offsets for a stream, of the sum of all streams' offsets for the connection.</summary>
    public long Limit { get; private set; } = limit;

    public long Used { get; private set; }

    /// <summary>The limit that the peer was last informed of being blocked at; -1: none.</summary>
    public long ReportedLimit { get; private set; } = -1;

    public readonly long Available => Limit - Used;

    /// <summary>False: the limit is not higher than before. Frames arrive in any order.</summary>
    public bool TryRaise(long limit)
    {
        bool isHigher = limit > Limit;
        Limit = Math.Max(Limit, limit);
        return isHigher;
    }

    public void Use(long bytes) => Used += bytes;

    /// <summary>
    /// Called when there are bytes that the window does not let out. True: the peer is to be informed, which happens once for a limit.
    /// </summary>
    public bool TryReportBlocked()
    {
        bool isNew = Available == 0 && ReportedLimit != Limit;
        if (isNew)
        {
            ReportedLimit = Limit;
        }

        return isNew;
    }
}
