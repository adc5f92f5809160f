namespace Millrace.Tls.Records;

/// <summary>
/// The size of the next record. A reader can use a record only when all of it has arrived, so a connection begins with records that fit one
/// segment; once data flows, larger ones cost less (22 to 29 bytes and some 0.5 us each). nginx calls these dynamic records; the first size
/// and the pause are Cloudflare's.
/// </summary>
internal struct RecordSizes
{
    /// <summary>The largest record (RFC 8446, section 5.1).</summary>
    public const int Most = 16 * 1024;

    /// <summary>An Ethernet segment over IPv6 with timestamps (1,428), less the largest overhead of a record.</summary>
    public const int OneSegment = 1_369;

    /// <summary>Somewhat more than what may be sent before the first acknowledgement (10 segments, RFC 6928).</summary>
    private const int SmallRecords = 16;

    /// <summary>After such a pause the congestion window starts again (RFC 6298's minimum timeout; tcp_slow_start_after_idle).</summary>
    private const int PauseMs = 1_000;

    private long _lastMs;
    private int _small;

    /// <summary>Called for each flush, before its first record.</summary>
    public void Begin(long nowMs)
    {
        if (nowMs - _lastMs > PauseMs)
        {
            _small = 0;
        }

        _lastMs = nowMs;
    }

    public readonly int Current => _small < SmallRecords ? OneSegment : Most;

    public void Written() => _small = Math.Min(_small + 1, SmallRecords);
}
