namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Adds up, per interval, how long each endpoint blocked one reactor. Where the total is too high although no endpoint is by itself, the
/// endpoints with the largest shares leave until the remaining total is acceptable. Pure: the caller passes the clock and the observations.
/// Any thread.
/// </summary>
internal sealed class BlockingShares
{
    private readonly Lock _lock = new();
    private readonly Dictionary<BlockingPolicy, Share> _shares = [];
    private long _beganMs;

    /// <summary>Notes that the reactor was blocked.</summary>
    /// <param name="policy">The policy of the endpoint that blocked it.</param>
    /// <param name="name">The endpoint's name in logs.</param>
    /// <param name="mayLeave">
    /// Whether the endpoint may leave because of its share. False for the policy of all requests without an endpoint, which leaves only on
    /// its own account.
    /// </param>
    /// <param name="isNewCallback">Whether this is the first observation of this callback.</param>
    /// <param name="blockedMs">Since the last observation.</param>
    /// <param name="nowMs">The clock.</param>
    /// <returns>The endpoints that left because of the previous interval.</returns>
    public Departure Note(BlockingPolicy policy, string name, bool mayLeave, bool isNewCallback, long blockedMs, long nowMs)
    {
        lock (_lock)
        {
            Departure departure = default;
            long passedMs = nowMs - _beganMs;
            if (passedMs >= BlockingPolicy.WindowMs)
            {
                // An interval that ended long ago says nothing about the present.
                departure = passedMs < 2 * BlockingPolicy.WindowMs ? SelectDepartures(nowMs) : default;
                _shares.Clear();
                _beganMs = nowMs;
            }

            if (!_shares.TryGetValue(policy, out Share? share))
            {
                _shares.Add(policy, share = new Share(policy, name, mayLeave));
            }

            share.Callbacks += isNewCallback ? 1 : 0;
            share.BlockedMs += blockedMs;
            return departure;
        }
    }

    private Departure SelectDepartures(long nowMs)
    {
        Share[] shares = [.. _shares.Values.Where(static share => !share.Policy.IsOff)];
        long blockedMs = shares.Sum(static share => share.BlockedMs);
        if (shares.Sum(static share => share.Callbacks) < BlockingPolicy.CallbacksToLeave)
        {
            return default;
        }

        List<Share> left = [];
        long remainingMs = blockedMs;
        foreach (Share share in shares
            .Where(static share => share.MayLeave && share.Policy.HasBlockedRepeatedly)
            .OrderByDescending(static share => share.BlockedMs)
            .TakeWhile(_ => remainingMs >= BlockingPolicy.BlockedMsToLeave))
        {
            remainingMs -= share.BlockedMs;
            if (share.Policy.LeaveForShare(share.BlockedMs, nowMs))
            {
                left.Add(share);
            }
        }

        return new Departure(blockedMs, left);
    }

    /// <summary>The endpoints that left.</summary>
    /// <param name="BlockedMs">How long all endpoints together blocked the reactor.</param>
    /// <param name="Shares">Null if none left.</param>
    internal readonly record struct Departure(long BlockedMs, IReadOnlyList<Share>? Shares);

    /// <summary>One endpoint's share.</summary>
    internal sealed class Share(BlockingPolicy policy, string name, bool mayLeave)
    {
        public BlockingPolicy Policy => policy;

        public string Name => name;

        public bool MayLeave => mayLeave;

        public int Callbacks { get; set; }

        public long BlockedMs { get; set; }
    }
}
