using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Routing;
using Millrace.AspNetCore.Transport;
using Millrace.AspNetCore.Transport.Connections;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// The policies of an application's endpoints, kept as long as the endpoints live, and one for code without an endpoint: middleware, and
/// requests before routing has chosen. Moves the requests of endpoints that block reactors for a tenth of a second in each second, one
/// endpoint on all reactors or several on one, to the thread pool, and logs each departure and return. Any thread.
/// </summary>
/// <param name="time">The clock.</param>
/// <param name="log">The transport's log.</param>
internal sealed class BlockingPolicies(TimeProvider time, TransportLog log)
{
    private const int AllReactors = -1;

    private readonly Lock _lock = new();
    private readonly ConditionalWeakTable<Endpoint, BlockingPolicy> _policies = [];

    /// <summary>By reactor, and one for all: what blocks different reactors adds up for one endpoint, and not for several.</summary>
    private readonly Dictionary<int, Window> _windows = [];
    private int _off;

    public BlockingPolicy WithoutEndpoint { get; } = new();

    /// <summary>Whether any endpoint's requests have left the reactors.</summary>
    public bool IsAnyOff => Volatile.Read(ref _off) > 0;

    /// <summary>Milliseconds of a monotonic clock.</summary>
    public long NowMs => (long)time.GetElapsedTime(0).TotalMilliseconds;

    public BlockingPolicy Of(Endpoint? endpoint) =>
        endpoint is null ? WithoutEndpoint : _policies.GetValue(endpoint, static _ => new BlockingPolicy());

    /// <summary>
    /// Notes that a request blocked its reactor. Where the endpoint's requests leave already, the code that blocks runs before the
    /// endpoint, and is counted as code without an endpoint.
    /// </summary>
    /// <param name="reactor">The reactor's index.</param>
    /// <param name="endpoint">The request's endpoint, if routing has chosen one.</param>
    /// <param name="name">The request's name in logs.</param>
    /// <param name="isNewCallback">Whether this is the first observation of this callback.</param>
    /// <param name="blockedMs">Since the last observation.</param>
    public void NoteBlocked(int reactor, Endpoint? endpoint, string name, bool isNewCallback, long blockedMs)
    {
        long nowMs = NowMs;
        BlockingPolicy policy = Of(endpoint);
        if (policy.HasJustLeft(nowMs))
        {
            return;
        }

        policy = policy.IsOff ? WithoutEndpoint : policy;
        lock (_lock)
        {
            int callbacks = isNewCallback ? 1 : 0;
            policy.BlockingCallbacks += callbacks;
            WindowOf(reactor, nowMs).Add(policy, name, callbacks, blockedMs);
            Share own = WindowOf(AllReactors, nowMs).Add(policy, name, callbacks, blockedMs);
            if (own.Callbacks >= BlockingPolicy.CallbacksToLeave && own.BlockedMs >= BlockingPolicy.BlockedMsToLeave)
            {
                Leave(own, reactor, own.BlockedMs, nowMs);
            }
        }
    }

    /// <summary>
    /// The endpoint itself or, while its requests leave the reactors, a copy that leaves first. A derived endpoint type is not copied: that
    /// would lose what the type adds.
    /// </summary>
    public Endpoint EndpointFor(Endpoint endpoint)
    {
        BlockingPolicy policy = Of(endpoint);
        return policy.IsOff && endpoint.RequestDelegate is { } run
            ? policy.OffReactorEndpoint ?? CreateOffReactorEndpoint(endpoint, run, policy)
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
            if (policy.ReturnIfCalm(NowMs))
            {
                Interlocked.Decrement(ref _off);
                string name = CallbackOwner.NameOf(context.Features, context.Request.Method) ?? "a request";
                log.EndpointReturned(name, policy.CalmMs / 1000);
            }
        }
    }

    /// <summary>Without the lock, which is held while a departure is logged: reactors do not wait for a log.</summary>
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
        return policy.SetOffReactorEndpoint(created);

        Task LeaveAndRun(HttpContext context) => RunOffReactorAsync(context, run, policy);
    }

    /// <summary>
    /// The window of a reactor or of all. The end of a reactor's is the time to leave for those that block it too much only together.
    /// </summary>
    private Window WindowOf(int reactor, long nowMs)
    {
        if (_windows.TryGetValue(reactor, out Window? window))
        {
            long passedMs = nowMs - window.BeganMs;
            if (passedMs < BlockingPolicy.WindowMs)
            {
                return window;
            }

            // A window that ended long ago says nothing about the present.
            if (passedMs < 2 * BlockingPolicy.WindowMs && reactor != AllReactors)
            {
                LeaveTogether(reactor, window, nowMs);
            }
        }

        return _windows[reactor] = new Window(nowMs);
    }

    /// <summary>
    /// Those with the largest shares leave until the rest is acceptable; not the code without an endpoint, for which all requests would
    /// leave.
    /// </summary>
    private void LeaveTogether(int reactor, Window window, long nowMs)
    {
        Share[] shares = [.. window.Shares.Values.Where(static share => !share.Policy.IsOff)];
        if (shares.Sum(static share => share.Callbacks) < BlockingPolicy.CallbacksToLeave)
        {
            return;
        }

        long blockedMs = shares.Sum(static share => share.BlockedMs);
        long remainingMs = blockedMs;
        foreach (Share share in shares
            .Where(share => share.Policy != WithoutEndpoint && share.Policy.BlockingCallbacks >= BlockingPolicy.CallbacksToLeave)
            .OrderByDescending(static share => share.BlockedMs)
            .TakeWhile(_ => remainingMs >= BlockingPolicy.BlockedMsToLeave))
        {
            remainingMs -= share.BlockedMs;
            Leave(share, reactor, blockedMs, nowMs);
        }
    }

    /// <param name="share">The share of the policy that leaves.</param>
    /// <param name="reactor">The reactor's index.</param>
    /// <param name="blockedMs">How long all together blocked the reactor.</param>
    /// <param name="nowMs">The clock.</param>
    private void Leave(Share share, int reactor, long blockedMs, long nowMs)
    {
        BlockingPolicy policy = share.Policy;
        if (!policy.TryLeave(share.BlockedMs, nowMs))
        {
            return;
        }

        Interlocked.Increment(ref _off);
        int calmSeconds = policy.CalmMs / 1000;
        if (policy.Departures > 1)
        {
            log.EndpointLeftAgain(share.Name, calmSeconds);
        }
        else if (policy == WithoutEndpoint)
        {
            log.MiddlewareLeft(share.Name, BlockingPolicy.BlockedMsToLeave, BlockingPolicy.WindowMs, calmSeconds);
        }
        else if (blockedMs == share.BlockedMs)
        {
            log.EndpointLeft(share.Name, BlockingPolicy.BlockedMsToLeave, BlockingPolicy.WindowMs, calmSeconds);
        }
        else
        {
            log.EndpointLeftWithOthers(reactor, blockedMs, BlockingPolicy.WindowMs, share.BlockedMs, share.Name, calmSeconds);
        }
    }

    /// <summary>How long each policy's requests blocked reactors in one window.</summary>
    private sealed class Window(long beganMs)
    {
        public long BeganMs => beganMs;

        public Dictionary<BlockingPolicy, Share> Shares { get; } = [];

        public Share Add(BlockingPolicy policy, string name, int callbacks, long blockedMs)
        {
            if (!Shares.TryGetValue(policy, out Share? share))
            {
                Shares.Add(policy, share = new Share(policy));
            }

            share.Name = name;
            share.Callbacks += callbacks;
            share.BlockedMs += blockedMs;
            return share;
        }
    }

    private sealed class Share(BlockingPolicy policy)
    {
        public BlockingPolicy Policy => policy;

        public string Name { get; set; } = "";

        public int Callbacks { get; set; }

        public long BlockedMs { get; set; }
    }
}
