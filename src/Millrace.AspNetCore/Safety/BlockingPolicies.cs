using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// Has requests that block reactors run on the thread pool: in each window in which requests block for a tenth of the time, the endpoint
/// with the largest share leaves, and it returns when it has not blocked for a minute. Any thread.
/// </summary>
/// <param name="time">The clock.</param>
/// <param name="log">The transport's log.</param>
internal sealed class BlockingPolicies(TimeProvider time, TransportLog log)
{
    /// <summary>Length of the windows in which blocked time is added up.</summary>
    public const int WindowMs = 1000;

    /// <summary>How long an endpoint's requests must not block before they return.</summary>
    public const int CalmMs = 60_000;

    /// <summary>
    /// The first slow call is assumed to be JIT compilation, and so are slow calls so soon after it: continuations and concurrent calls run
    /// code that is being compiled.
    /// </summary>
    public const int NewMs = 5000;

    /// <summary>A tenth of the window: below that other connections hardly wait.</summary>
    private const int BlockedMsMax = WindowMs / 10;

    /// <summary>One long wait is not enough, nor are two: a first call may open a connection.</summary>
    private const int RepeatedCallbacks = 3;

    /// <summary>Callbacks that block belong together unless there is none for so long.</summary>
    private const int PauseMsMax = 10_000;

    /// <summary>A busy machine seems to block this long anyway.</summary>
    private const int CalmBlockedMsLeast = 20;

    private readonly Lock _lock = new();

    /// <summary>Kept as long as the endpoints live.</summary>
    private readonly ConditionalWeakTable<Endpoint, BlockingPolicy> _policies = [];

    /// <summary>The policies whose requests blocked reactors in the present window, with their times.</summary>
    private readonly Dictionary<BlockingPolicy, long> _blockedMs = [];
    private long _windowBeganMs;
    private int _off;

    /// <summary>That of code without an endpoint: middleware, and requests before routing has chosen.</summary>
    public BlockingPolicy WithoutEndpoint { get; } = new();

    /// <summary>Whether any endpoint's requests have left the reactors.</summary>
    public bool IsAnyOff => Volatile.Read(ref _off) > 0;

    /// <summary>Milliseconds of a monotonic clock.</summary>
    private long NowMs => (long)time.GetElapsedTime(0).TotalMilliseconds;

    public BlockingPolicy Of(Endpoint? endpoint) =>
        endpoint is null ? WithoutEndpoint : _policies.GetValue(endpoint, static _ => new BlockingPolicy());

    /// <summary>Notes that a call stalled its reactor. True if it may be compilation.</summary>
    public bool BeginStall(Endpoint? endpoint)
    {
        lock (_lock)
        {
            BlockingPolicy policy = Of(endpoint);
            policy.FirstStallMs ??= NowMs;
            return NowMs - policy.FirstStallMs < NewMs;
        }
    }

    /// <summary>
    /// Notes that a request blocked its reactor. Where the endpoint's requests leave already, the code that blocks runs before the
    /// endpoint, and is counted as code without an endpoint.
    /// </summary>
    /// <param name="endpoint">The request's endpoint, if routing has chosen one.</param>
    /// <param name="name">The request's name in logs.</param>
    /// <param name="isNewCallback">Whether this is the first observation of this callback.</param>
    /// <param name="blockedMs">Since the last observation.</param>
    public void NoteBlocked(Endpoint? endpoint, string name, bool isNewCallback, long blockedMs)
    {
        BlockingPolicy? leaving;
        LogLevel level = LogLevel.Warning;
        long ownMs = 0;
        long allMs;
        lock (_lock)
        {
            BlockingPolicy policy = Of(endpoint);
            if (policy.IsOffReactor && NowMs - policy.LeftMs >= WindowMs)
            {
                policy = WithoutEndpoint;
            }

            if (policy.IsOffReactor)
            {
                // The request may have begun before the endpoint left.
                return;
            }

            policy.Name = name;
            Add(policy, isNewCallback ? 1 : 0, blockedMs);
            allMs = _blockedMs.Where(static share => IsRepeated(share.Key)).Sum(static share => share.Value);
            leaving = allMs >= BlockedMsMax ? _blockedMs.Keys.Where(MayLeave).MaxBy(each => _blockedMs[each]) : null;
            if (leaving is not null && _blockedMs.Remove(leaving, out ownMs))
            {
                leaving.CalmBlockedMs = Math.Clamp(ownMs / 2, CalmBlockedMsLeast, BlockedMsMax / 2);
                leaving.LeftMs = leaving.CalmSinceMs = NowMs;
                leaving.IsOffReactor = true;
                _off++;
                level = leaving.HasLeftBefore ? LogLevel.Debug : LogLevel.Warning;
                leaving.HasLeftBefore = true;
            }
        }

        if (leaving is not null)
        {
            LogLeft(level, leaving, ownMs, allMs);
        }
    }

    /// <summary>Notes how long a request of an endpoint that has left blocked a thread of the pool.</summary>
    public void NoteBlockedOffReactor(BlockingPolicy policy, long blockedMicroseconds)
    {
        lock (_lock)
        {
            if (NowMs - policy.PoolWindowBeganMs >= WindowMs)
            {
                policy.PoolWindowBeganMs = NowMs;
                policy.PoolBlockedMicroseconds = 0;
            }

            policy.PoolBlockedMicroseconds += blockedMicroseconds;
            if (policy.PoolBlockedMicroseconds >= 1000 * policy.CalmBlockedMs)
            {
                policy.CalmSinceMs = NowMs;
            }
        }
    }

    /// <summary>A request of an endpoint that has left is over: returns the endpoint to the reactors if it has been calm.</summary>
    public void ReturnIfCalm(BlockingPolicy policy)
    {
        lock (_lock)
        {
            if (!policy.IsOffReactor || NowMs - policy.CalmSinceMs < CalmMs)
            {
                return;
            }

            policy.IsOffReactor = false;
            _off--;
        }

        log.EndpointReturned(policy.Name, CalmMs / 1000);
    }

    /// <summary>
    /// The endpoint itself or, while its requests leave the reactors, a copy that leaves first. A derived endpoint type is not copied: that
    /// would lose what the type adds.
    /// </summary>
    public Endpoint EndpointFor(Endpoint endpoint)
    {
        BlockingPolicy policy = Of(endpoint);
        return policy.IsOffReactor && endpoint.RequestDelegate is { } run
            ? policy.OffReactorEndpoint ??= CreateOffReactorEndpoint(endpoint, run, policy)
            : endpoint;
    }

    /// <summary>Runs the request, or what remains of it, on the thread pool, and measures whether it blocks there.</summary>
    public async Task RunOffReactorAsync(HttpContext context, RequestDelegate run, BlockingPolicy policy)
    {
        await context.LeaveReactor();
        var tracker = new BlockingTracker(this, policy);
        try
        {
            await tracker.Run(context, run);
        }
        finally
        {
            tracker.End();
            ReturnIfCalm(policy);
        }
    }

    private Endpoint CreateOffReactorEndpoint(Endpoint endpoint, RequestDelegate run, BlockingPolicy policy)
    {
        Endpoint created = endpoint switch
        {
            RouteEndpoint route when endpoint.GetType() == typeof(RouteEndpoint) =>
                new RouteEndpoint(LeaveAndRun, route.RoutePattern, route.Order, route.Metadata, route.DisplayName),
            _ when endpoint.GetType() == typeof(Endpoint) => new Endpoint(LeaveAndRun, endpoint.Metadata, endpoint.DisplayName),
            _ => endpoint,
        };
        _policies.TryAdd(created, policy);
        return created;

        Task LeaveAndRun(HttpContext context) => RunOffReactorAsync(context, run, policy);
    }

    private void Add(BlockingPolicy policy, int callbacks, long blockedMs)
    {
        if (NowMs - _windowBeganMs >= WindowMs)
        {
            _windowBeganMs = NowMs;
            _blockedMs.Clear();
        }

        policy.BlockingCallbacks = (NowMs - policy.BlockedLastMs < PauseMsMax ? policy.BlockingCallbacks : 0) + callbacks;
        policy.BlockedLastMs = NowMs;
        _blockedMs[policy] = _blockedMs.GetValueOrDefault(policy) + blockedMs;
    }

    /// <summary>What blocks once or twice neither leaves nor has others leave.</summary>
    private static bool IsRepeated(BlockingPolicy policy) => policy.BlockingCallbacks >= RepeatedCallbacks;

    /// <summary>Code without an endpoint, with which all requests would leave, does so only for what it blocks itself.</summary>
    private bool MayLeave(BlockingPolicy policy) => IsRepeated(policy) && (policy != WithoutEndpoint || _blockedMs[policy] >= BlockedMsMax);

    /// <summary>Without the lock: requests do not wait for a log.</summary>
    private void LogLeft(LogLevel level, BlockingPolicy policy, long ownMs, long allMs)
    {
        if (policy == WithoutEndpoint)
        {
            log.MiddlewareLeft(level, policy.Name, ownMs, WindowMs, CalmMs / 1000);
        }
        else
        {
            log.EndpointLeft(level, policy.Name, ownMs, allMs, WindowMs, CalmMs / 1000);
        }
    }
}

/// <summary>
/// Whether the requests of one endpoint run on the thread pool because they block reactors. Guarded by the lock of
/// <see cref="BlockingPolicies"/>, except the first two properties, which any thread reads.
/// </summary>
internal sealed class BlockingPolicy
{
    private volatile bool _isOff;

    /// <summary>Whether the requests run on the thread pool.</summary>
    public bool IsOffReactor
    {
        get => _isOff;
        set => _isOff = value;
    }

    /// <summary>The copy of the endpoint that leaves its reactor first; made when needed. Of two made at once, either serves.</summary>
    public Endpoint? OffReactorEndpoint { get; set; }

    /// <summary>The request that blocked last, in logs.</summary>
    public string Name { get; set; } = "";

    /// <summary>The callbacks that were seen to block a reactor, since the last pause between two of them.</summary>
    public int BlockingCallbacks { get; set; }

    public long BlockedLastMs { get; set; }

    public long? FirstStallMs { get; set; }

    public bool HasLeftBefore { get; set; }

    public long LeftMs { get; set; }

    /// <summary>When its requests last blocked the pool's threads too much.</summary>
    public long CalmSinceMs { get; set; }

    /// <summary>Too much is half of what made the endpoint leave, in a window: with less it is not about to leave again.</summary>
    public long CalmBlockedMs { get; set; }

    public long PoolWindowBeganMs { get; set; }

    public long PoolBlockedMicroseconds { get; set; }
}
