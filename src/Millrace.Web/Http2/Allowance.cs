namespace Millrace.Web.Http2;

/// <summary>
/// How much of something a client may still do: so much in one burst, some more each second, and some for what it does that a server is
/// for. Pure: the caller brings the clock.
/// </summary>
/// <param name="most">In one burst, and what it starts with.</param>
/// <param name="perSecond">What comes back with time.</param>
internal struct Allowance(int most, int perSecond)
{
    private long _left = most * 1000L;
    private long _atMs;

    /// <summary>False where there is nothing left to spend.</summary>
    public bool TrySpend(int count, long nowMs)
    {
        if (_atMs != 0 && _left < most * 1000L)
        {
            _left = Math.Min(most * 1000L, _left + ((nowMs - _atMs) * perSecond));
        }

        _atMs = nowMs;
        _left -= count * 1000L;
        return _left >= 0;
    }

    /// <summary>Without a bound: what it is earned by took more than what it is spent on will.</summary>
    public void Earn(int count) => _left += count * 1000L;
}
