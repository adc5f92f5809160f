namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Decides when the requests of one endpoint move off the reactors because they block them, and when they return because they have not
/// blocked for long. Pure: the caller passes the clock and the observations. Any thread.
/// </summary>
internal sealed class BlockingPolicy
{
    /// <summary>Length of the window in which blocked time is added up.</summary>
    public const int WindowMs = 1000;

    /// <summary>A tenth of the window: below that other connections hardly wait.</summary>
    public const int BlockedMsToLeave = 100;

    /// <summary>One long wait is not enough, nor is one on each of two reactors: a first call may open a connection.</summary>
    public const int CallbacksToLeave = 3;

    /// <summary>Half of the limit to leave: an endpoint that returns is not about to leave again.</summary>
    public const int BlockedMsToStay = 50;

    /// <summary>
    /// Lower limit for an endpoint that left because of its share: it must come down to half of that share, but not below this, which a
    /// busy machine exceeds anyway.
    /// </summary>
    public const int BlockedMsToStayLeast = 20;

    /// <summary>
    /// Length of the first calm period before a return; each later one is twice as long, as an early return costs every connection.
    /// </summary>
    public const int FirstCalmMs = 60_000;
    public const int CalmMsMax = 3_600_000;

    private readonly Lock _lock = new();
    private volatile bool _isOff;
    private long _windowMs;
    private long _blockedMicroseconds;
    private int _callbacks;
    private int _callbacksTotal;
    private long _blockedMsToStay = BlockedMsToStay;
    private long _leftMs;
    private long _calmSinceMs;

    /// <summary>Whether the requests run on the thread pool.</summary>
    public bool IsOff => _isOff;

    /// <summary>How often the requests have left the reactors.</summary>
    public int Departures { get; private set; }

    /// <summary>How long the requests must not block before they return.</summary>
    public int CalmMs => (int)Math.Min(CalmMsMax, (long)FirstCalmMs << Math.Min(Departures - 1, 10));

    /// <summary>Whether the endpoint has blocked reactors often enough, at any time, to rule out that only first calls did.</summary>
    public bool HasBlockedRepeatedly => Volatile.Read(ref _callbacksTotal) >= CallbacksToLeave;

    /// <summary>Whether requests seen on reactors may have begun before the endpoint left.</summary>
    public bool HasJustLeft(long nowMs) => _isOff && nowMs - Volatile.Read(ref _leftMs) < WindowMs;

    /// <summary>Notes that a request blocked its reactor. True if the limit is exceeded and the endpoint has just left.</summary>
    /// <param name="isNewCallback">Whether this is the first observation of this callback.</param>
    /// <param name="blockedMs">Since the last observation.</param>
    /// <param name="nowMs">The clock.</param>
    public bool NoteOnReactor(bool isNewCallback, long blockedMs, long nowMs)
    {
        lock (_lock)
        {
            if (_isOff)
            {
                return false;
            }

            BeginWindowIfOver(nowMs);
            _callbacks += isNewCallback ? 1 : 0;
            _callbacksTotal += isNewCallback && _callbacksTotal < CallbacksToLeave ? 1 : 0;
            _blockedMicroseconds += 1000 * blockedMs;
            if (_callbacks < CallbacksToLeave || _blockedMicroseconds < 1000 * BlockedMsToLeave)
            {
                return false;
            }

            BeginOff(BlockedMsToStay, nowMs);
            return true;
        }
    }

    /// <summary>Leaves because several endpoints together block a reactor too much. True if the endpoint has just left.</summary>
    /// <param name="blockedMs">The endpoint's share of a window.</param>
    /// <param name="nowMs">The clock.</param>
    public bool LeaveForShare(long blockedMs, long nowMs)
    {
        lock (_lock)
        {
            if (_isOff)
            {
                return false;
            }

            BeginOff(Math.Clamp(blockedMs / 2, BlockedMsToStayLeast, BlockedMsToStay), nowMs);
            return true;
        }
    }

    /// <summary>Notes that a request blocked on the thread pool.</summary>
    /// <param name="blockedMicroseconds">How long the thread had no processor.</param>
    /// <param name="nowMs">The clock.</param>
    public void NoteBlockedOffReactor(long blockedMicroseconds, long nowMs)
    {
        lock (_lock)
        {
            if (_isOff)
            {
                BeginWindowIfOver(nowMs);
                _blockedMicroseconds += blockedMicroseconds;
                CheckForCalm(nowMs);
            }
        }
    }

    /// <summary>
    /// Notes that a request ran on the thread pool. True if the endpoint has been calm for long enough and has just returned.
    /// </summary>
    public bool ReturnIfCalm(long nowMs)
    {
        lock (_lock)
        {
            if (!_isOff)
            {
                return false;
            }

            BeginWindowIfOver(nowMs);
            CheckForCalm(nowMs);
            if (nowMs - _calmSinceMs < CalmMs)
            {
                return false;
            }

            BeginWindow(nowMs);
            _isOff = false;
            return true;
        }
    }

    private void CheckForCalm(long nowMs)
    {
        if (_blockedMicroseconds >= 1000 * _blockedMsToStay)
        {
            _calmSinceMs = nowMs;
        }
    }

    private void BeginOff(long blockedMsToStay, long nowMs)
    {
        Departures++;
        Volatile.Write(ref _leftMs, nowMs);
        _blockedMsToStay = blockedMsToStay;
        _calmSinceMs = nowMs;
        BeginWindow(nowMs);
        _isOff = true;
    }

    private void BeginWindowIfOver(long nowMs)
    {
        if (nowMs - _windowMs >= WindowMs)
        {
            BeginWindow(nowMs);
        }
    }

    private void BeginWindow(long nowMs)
    {
        _windowMs = nowMs;
        _blockedMicroseconds = 0;
        _callbacks = 0;
    }
}
