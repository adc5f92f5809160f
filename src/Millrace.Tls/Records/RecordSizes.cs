namespace Millrace.Tls.Records;

/// <summary>
/// How much goes into the next record. A record is of use to its reader only when all of it has come, so a connection begins with
/// records that fit one segment; once data flows, larger ones cost less (22 to 29 bytes and some 0.5 us each). What nginx calls dynamic
/// records, with Cloudflare's numbers for the first size and the pause.
/// </summary>
internal struct RecordSizes
{
    /// <summary>The largest there is (RFC 8446, section 5.1).</summary>
    public const int Most = 16 * 1024;

    /// <summary>An Ethernet segment over IPv6 with timestamps (1,428), less the largest overhead of a record.</summary>
    public const int OneSegment = 1_369;

    /// <summary>Rather more than what may be sent before the first acknowledgement (10 segments, RFC 6928).</summary>
    private const int SmallRecords = 16;

    /// <summary>After such a pause the congestion window begins anew (RFC 6298's least timeout; tcp_slow_start_after_idle).</summary>
    private const int PauseMs = 1_000;

    private long _lastMs;
    private int _small;

    /// <summary>Asked once for each flush, before its first record.</summary>
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
