namespace Millrace.Tls.Records;

/// <summary>
/// Limits records without data from a client: key updates, alerts, renegotiation attempts, empty records. Each costs the client some 25
/// bytes and the server as many microseconds of cryptography, and OpenSSL limits only some kinds, and only in a row. Pure: the caller
/// passes the clock.
/// </summary>
internal struct EmptyRecordLimiter()
{
    /// <summary>The burst. A client updates its keys after gigabytes, and sends one close_notify.</summary>
    public const int Most = 100;

    /// <summary>The rate beyond the burst.</summary>
    public const int PerSecond = 10;

    private long _left = Most * 1000L;
    private long _atMs;

    /// <summary>Counts records; false beyond the limit.</summary>
    public bool TrySpend(int count, long nowMs)
    {
        if (_atMs != 0)
        {
            _left = Math.Min(Most * 1000L, _left + ((nowMs - _atMs) * PerSecond));
        }

        _atMs = nowMs;
        _left -= count * 1000L;
        return _left >= 0;
    }
}
