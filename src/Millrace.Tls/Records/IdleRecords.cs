namespace Millrace.Tls.Records;

/// <summary>
/// How many records without data a client may send: updates of keys, alerts, attempts to renegotiate, empty ones. Each is some 25 bytes
/// for it and as many microseconds of cryptography here, and OpenSSL bounds only some of them, in a row. Pure: the caller brings the clock.
/// </summary>
internal struct IdleRecords()
{
    /// <summary>In one burst. A client updates its keys after gigabytes, and says goodbye once.</summary>
    public const int Most = 100;

    /// <summary>How many more it may each second.</summary>
    public const int PerSecond = 10;

    private long _left = Most * 1000L;
    private long _atMs;

    /// <summary>False where that is too many.</summary>
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
