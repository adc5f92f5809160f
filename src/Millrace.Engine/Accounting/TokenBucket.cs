namespace Millrace.Engine;

/// <summary>
/// Limits an activity of a client: a burst, a refill each second, and tokens earned by useful activity. The caller supplies the time. One
/// thread.
/// </summary>
/// <param name="capacity">The size of a burst, and the initial number of tokens.</param>
/// <param name="perSecond">The refill rate.</param>
internal sealed class TokenBucket(int capacity, int perSecond)
{
    private long _tokens = capacity * 1000L;
    private long _atMs;

    public bool TrySpend(int count, long nowMs)
    {
        if (_atMs != 0 && _tokens < capacity * 1000L)
        {
            _tokens = Math.Min(capacity * 1000L, _tokens + ((nowMs - _atMs) * perSecond));
        }

        _atMs = nowMs;
        _tokens -= count * 1000L;
        return _tokens >= 0;
    }

    /// <summary>Adds tokens without a limit: earning them cost more than spending them will.</summary>
    public void Earn(int count) => _tokens += count * 1000L;
}
