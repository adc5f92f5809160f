using Microsoft.AspNetCore.Http;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Whether the requests of one endpoint run on the thread pool because they block reactors. <see cref="BlockingPolicies"/> decides that
/// they leave; they return when they have not blocked for long. The caller passes the clock and the observations. Any thread.
/// </summary>
internal sealed class BlockingPolicy
{
    /// <summary>Length of the window in which blocked time is added up.</summary>
    public const int WindowMs = 1000;

    /// <summary>A tenth of the window: below that other connections hardly wait.</summary>
    public const int BlockedMsToLeave = 100;

    /// <summary>One long wait is not enough, nor are two: a first call may open a connection.</summary>
    public const int CallbacksToLeave = 3;

    /// <summary>
    /// Length of the first calm period before a return; each later one is twice as long, as an early return costs every connection.
    /// </summary>
    public const int FirstCalmMs = 60_000;

    /// <summary>
    /// The first slow call is assumed to be JIT compilation, and so are slow calls so soon after it: continuations and concurrent calls run
    /// code that is being compiled.
    /// </summary>
    public const int NewMs = 5000;

    private const int CalmMsMax = 3_600_000;

    /// <summary>
    /// Calm is half of what made the endpoint leave, so that it is not about to leave again, but at least what a busy machine exceeds
    /// anyway.
    /// </summary>
    private const int CalmBlockedMsLeast = 20;

    private readonly Lock _lock = new();
    private Endpoint? _offReactorEndpoint;
    private volatile bool _isOff;
    private long _firstStallMs = long.MaxValue;
    private long _leftMs;
    private long _calmBlockedMs;
    private long _calmSinceMs;
    private long _windowMs;
    private long _blockedMicroseconds;

    /// <summary>Whether the requests run on the thread pool.</summary>
    public bool IsOff => _isOff;

    /// <summary>How often the requests have left the reactors.</summary>
    public int Departures { get; private set; }

    /// <summary>How long the requests must not block before they return.</summary>
    public int CalmMs => (int)Math.Min(CalmMsMax, (long)FirstCalmMs << Math.Min(Departures - 1, 10));

    /// <summary>The callbacks that were seen to block a reactor. The watchdog's thread.</summary>
    public int BlockingCallbacks { get; set; }

    /// <summary>The copy of the endpoint that leaves its reactor first; made when needed.</summary>
    public Endpoint? OffReactorEndpoint => Volatile.Read(ref _offReactorEndpoint);

    /// <summary>The first one that is set stays; returns it.</summary>
    public Endpoint SetOffReactorEndpoint(Endpoint created) =>
        Interlocked.CompareExchange(ref _offReactorEndpoint, created, null) ?? created;

    /// <summary>Notes that a call stalled its reactor. True if it may be compilation.</summary>
    public bool BeginStall(long nowMs)
    {
        long firstMs = Interlocked.CompareExchange(ref _firstStallMs, nowMs, long.MaxValue);
        return firstMs == long.MaxValue || nowMs - firstMs < NewMs;
    }

    /// <summary>Whether requests seen on reactors may have begun before the endpoint left.</summary>
    public bool HasJustLeft(long nowMs) => _isOff && nowMs - Volatile.Read(ref _leftMs) < WindowMs;

    /// <summary>True if the endpoint has left now; false if it had before.</summary>
    /// <param name="blockedMs">How long it blocked a reactor in a window.</param>
    /// <param name="nowMs">The clock.</param>
    public bool TryLeave(long blockedMs, long nowMs)
    {
        lock (_lock)
        {
            if (_isOff)
            {
                return false;
            }

            Departures++;
            Volatile.Write(ref _leftMs, nowMs);
            _calmBlockedMs = Math.Clamp(blockedMs / 2, CalmBlockedMsLeast, BlockedMsToLeave / 2);
            _calmSinceMs = _windowMs = nowMs;
            _blockedMicroseconds = 0;
            _isOff = true;
            return true;
        }
    }

    /// <summary>Notes how long a request blocked a thread of the pool.</summary>
    public void NoteBlockedOffReactor(long blockedMicroseconds, long nowMs)
    {
        lock (_lock)
        {
            Note(blockedMicroseconds, nowMs);
        }
    }

    /// <summary>
    /// Notes that a request ran on the thread pool. True if the endpoint has been calm for long enough and has just returned.
    /// </summary>
    public bool ReturnIfCalm(long nowMs)
    {
        lock (_lock)
        {
            Note(0, nowMs);
            bool returns = _isOff && nowMs - _calmSinceMs >= CalmMs;
            _isOff &= !returns;
            return returns;
        }
    }

    private void Note(long blockedMicroseconds, long nowMs)
    {
        if (nowMs - _windowMs >= WindowMs)
        {
            _windowMs = nowMs;
            _blockedMicroseconds = 0;
        }

        _blockedMicroseconds += blockedMicroseconds;
        if (_blockedMicroseconds >= 1000 * _calmBlockedMs)
        {
            _calmSinceMs = nowMs;
        }
    }
}
