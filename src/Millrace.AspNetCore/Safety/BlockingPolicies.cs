using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Transport;

namespace Millrace.AspNetCore.Safety;

/// <summary>
/// The statistics of an application's endpoints, kept as long as the endpoints live, and one entry for code without an endpoint:
/// middleware, and requests before routing has chosen. Counts the endpoints whose requests have left the reactors, and logs each departure
/// and return. Any thread.
/// </summary>
/// <param name="time">The clock.</param>
/// <param name="log">The transport's log.</param>
internal sealed class EndpointStatisticsTable(TimeProvider time, TransportLog log)
{
    private readonly ConditionalWeakTable<Endpoint, EndpointStatistics> _statistics = [];
    private readonly ConcurrentDictionary<int, BlockingShares> _shares = new();
    private int _off;

    public EndpointStatistics WithoutEndpoint { get; } = new();

    /// <summary>Whether any endpoint's requests have left the reactors.</summary>
    public bool IsAnyOff => Volatile.Read(ref _off) > 0;

    /// <summary>Milliseconds of a monotonic clock.</summary>
    public long NowMs => (long)time.GetElapsedTime(0).TotalMilliseconds;

    public EndpointStatistics Of(Endpoint? endpoint) =>
        endpoint is null ? WithoutEndpoint : _statistics.GetValue(endpoint, static _ => new EndpointStatistics());

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
        EndpointStatistics statistics = Of(endpoint);
        if (statistics.Policy.HasJustLeft(nowMs))
        {
            return;
        }

        bool isBeforeEndpoint = endpoint is null || statistics.Policy.IsOff;
        BlockingPolicy policy = (isBeforeEndpoint ? WithoutEndpoint : statistics).Policy;
        if (policy.NoteOnReactor(isNewCallback, blockedMs, nowMs))
        {
            BeginOff(policy, name, isBeforeEndpoint);
        }

        BlockingShares shares = _shares.GetOrAdd(reactor, static _ => new BlockingShares());
        BlockingShares.Departure departure = shares.Note(policy, name, mayLeave: !isBeforeEndpoint, isNewCallback, blockedMs, nowMs);
        foreach (BlockingShares.Share share in departure.Shares ?? [])
        {
            BeginOff(share, reactor, departure.BlockedMs);
        }
    }

    /// <summary>The endpoint itself or, while its requests leave the reactors, the variant that leaves first.</summary>
    public Endpoint VariantOf(Endpoint endpoint)
    {
        EndpointStatistics statistics = Of(endpoint);
        if (!statistics.Policy.IsOff)
        {
            return endpoint;
        }

        if (statistics.OffReactorVariant is { } variant)
        {
            return variant;
        }

        Endpoint? created = OffReactorEndpoint.Make(endpoint, this, statistics.Policy);
        if (created is null)
        {
            return endpoint;
        }

        created = statistics.StoreVariant(created);
        _statistics.TryAdd(created, statistics);
        return created;
    }

    /// <summary>Runs the request, or what remains of it, on the thread pool, and measures whether it blocks there.</summary>
    public async Task RunOffReactorAsync(HttpContext context, RequestDelegate run, BlockingPolicy policy)
    {
        await context.LeaveReactor();
        var tracker = new BlockingTracker(policy, this);
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
                log.EndpointReturned(RequestName.Of(context.Features, context.Request.Method) ?? "a request", policy.CalmMs / 1000);
            }
        }
    }

    private void BeginOff(BlockingPolicy policy, string name, bool isBeforeEndpoint)
    {
        if (!NoteDeparture(policy, name))
        {
            return;
        }

        if (isBeforeEndpoint)
        {
            log.MiddlewareLeft(name, BlockingPolicy.BlockedMsToLeave, BlockingPolicy.WindowMs, policy.CalmMs / 1000);
        }
        else
        {
            log.EndpointLeft(name, BlockingPolicy.BlockedMsToLeave, BlockingPolicy.WindowMs, policy.CalmMs / 1000);
        }
    }

    private void BeginOff(BlockingShares.Share share, int reactor, long blockedMs)
    {
        if (NoteDeparture(share.Policy, share.Name))
        {
            log.EndpointLeftWithOthers(
                reactor, blockedMs, BlockingPolicy.WindowMs, share.BlockedMs, share.Name, share.Policy.CalmMs / 1000);
        }
    }

    /// <summary>Counts a departure, and logs it unless it is the first. True for the first.</summary>
    private bool NoteDeparture(BlockingPolicy policy, string name)
    {
        Interlocked.Increment(ref _off);
        if (policy.Departures <= 1)
        {
            return true;
        }

        log.EndpointLeftAgain(name, policy.CalmMs / 1000);
        return false;
    }
}
