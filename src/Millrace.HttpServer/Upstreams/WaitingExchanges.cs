namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// The exchanges of a pool that have no connection, in order of arrival: those that an attempt to connect is made for, and those that are
/// queued until a connection is free. Each has a deadline. Owned by the pool. Reactor thread only.
/// </summary>
internal sealed class WaitingExchanges(UpstreamPool pool)
{
    /// <summary>How much later than at its deadline one may end.</summary>
    private const int CheckMs = 100;

    private readonly LinkedList<UpstreamExchange> _waiting = new();
    private bool _isWatched;

    public UpstreamExchange? First => _waiting.First?.Value;

    /// <summary>How many of them no attempt is made for.</summary>
    public int QueuedCount { get; private set; }

    public UpstreamExchange? FirstQueued
    {
        get
        {
            if (QueuedCount > 0)
            {
                for (LinkedListNode<UpstreamExchange>? node = _waiting.First; node is not null; node = node.Next)
                {
                    if (node.Value.CountsAsQueued)
                    {
                        return node.Value;
                    }
                }
            }

            return null;
        }
    }

    public static bool Contains(UpstreamExchange exchange) => exchange.WaitingNode.List is not null;

    /// <summary>Adds an exchange, or gives one that waits already another deadline; its attempt is set before.</summary>
    public void Add(UpstreamExchange exchange, TimeSpan most)
    {
        Remove(exchange);
        exchange.WaitsUntilMs = pool.Reactor.NowMs + (long)most.TotalMilliseconds;
        exchange.CountsAsQueued = exchange.Attempt is null;
        QueuedCount += exchange.CountsAsQueued ? 1 : 0;
        _waiting.AddLast(exchange.WaitingNode);
        pool.Counters.Waiting = _waiting.Count;
        if (!_isWatched)
        {
            _isWatched = true;
            _ = WatchAsync();
        }
    }

    public void Remove(UpstreamExchange exchange)
    {
        if (exchange.WaitingNode.List is null)
        {
            return;
        }

        QueuedCount -= exchange.CountsAsQueued ? 1 : 0;
        _waiting.Remove(exchange.WaitingNode);
        pool.Counters.Waiting = _waiting.Count;
    }

    private async Task WatchAsync()
    {
        try
        {
            while (NextDueMs() is { } dueMs)
            {
                // Not until then at once: one that is added meanwhile may be due earlier.
                await pool.Reactor.Delay(TimeSpan.FromMilliseconds(Math.Clamp(dueMs - pool.Reactor.NowMs, 1, CheckMs)));
                EndThoseDue(pool.Reactor.NowMs);
            }
        }
        catch (OperationCanceledException)
        {
            // The reactor stops: no connection is left whose client could take a response.
            EndThoseDue(long.MaxValue);
        }

        _isWatched = false;
    }

    private long? NextDueMs()
    {
        long? nearest = null;
        foreach (UpstreamExchange exchange in _waiting)
        {
            nearest = Math.Min(nearest ?? long.MaxValue, exchange.WaitsUntilMs);
        }

        return nearest;
    }

    private void EndThoseDue(long nowMs)
    {
        for (LinkedListNode<UpstreamExchange>? node = _waiting.First; node is not null;)
        {
            UpstreamExchange exchange = node.Value;
            node = node.Next;
            if (exchange.WaitsUntilMs > nowMs)
            {
                continue;
            }

            bool isQueued = exchange.CountsAsQueued;
            Remove(exchange);
            pool.Counters.QueueRefused += isQueued ? 1 : 0;
            pool.Counters.TimedOut += isQueued ? 0 : 1;
            exchange.FailLater(isQueued
                ? new UpstreamFailure(503, "no connection to the upstream became free in time")
                : new UpstreamFailure(504, "connecting took too long"));
        }
    }
}
