namespace Millrace.Acme.Renewal;

/// <summary>
/// The waits of the renewal loops: for a moment of the clock, and for hosts that another loop has challenges for. It knows when all of them
/// wait, so that tests move their clock then. Any thread.
/// </summary>
/// <remarks>
/// A moment is one of the wall clock, which a timer does not follow: it stands still while the machine sleeps. Long waits therefore look at
/// the clock again every ten minutes.
/// </remarks>
internal sealed class LoopWaits(TimeProvider clock)
{
    private static readonly TimeSpan SliceMax = TimeSpan.FromMinutes(10);

    /// <summary>How far the wall clock falls behind until it counts as set back.</summary>
    private static readonly TimeSpan SetBackMin = TimeSpan.FromSeconds(10);
    private readonly Lock _lock = new();
    private readonly HashSet<Wait> _waits = [];
    private readonly List<Wait> _queue = [];
    private readonly HashSet<string> _heldHosts = new(StringComparer.Ordinal);
    private TaskCompletionSource? _idle;
    private int _working;

    /// <summary>When the first wait ends by itself; null if none does.</summary>
    public DateTimeOffset? NextWake
    {
        get
        {
            lock (_lock)
            {
                return _waits.Min(static wait => wait.End) is { } end
                    ? clock.GetUtcNow() + clock.GetElapsedTime(clock.GetTimestamp(), end)
                    : null;
            }
        }
    }

    /// <summary>Completes when every loop waits.</summary>
    public Task WhenIdleAsync()
    {
        lock (_lock)
        {
            return _working == 0
                ? Task.CompletedTask
                : (_idle ??= new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously)).Task;
        }
    }

    /// <summary>A loop begins.</summary>
    public void Enter()
    {
        lock (_lock)
        {
            _working++;
        }
    }

    /// <summary>A loop ends.</summary>
    public void Leave()
    {
        lock (_lock)
        {
            StopWorking();
        }
    }

    /// <summary>
    /// Waits until the wall clock shows a moment. One that is set forward ends the wait; so does one that is set back, since then what the
    /// moment was computed from may be in the future: the caller decides again.
    /// </summary>
    public async Task UntilAsync(DateTimeOffset moment, CancellationToken cancel)
    {
        DateTimeOffset begun = clock.GetUtcNow();
        long begunTimestamp = clock.GetTimestamp();
        for (DateTimeOffset now = begun; now < moment && now - begun > clock.GetElapsedTime(begunTimestamp) - SetBackMin;)
        {
            await ForAsync(RenewalSchedule.Shorter(moment - now, SliceMax), cancel);
            now = clock.GetUtcNow();
        }
    }

    /// <summary>Waits for a time, whatever the wall clock shows.</summary>
    public async Task ForAsync(TimeSpan time, CancellationToken cancel)
    {
        if (time <= TimeSpan.Zero)
        {
            return;
        }

        var wait = new Wait { End = clock.GetTimestamp() + (long)(time.TotalSeconds * clock.TimestampFrequency) };
        ITimer timer;
        lock (_lock)
        {
            // Before anybody sees that all wait, and moves the clock.
            timer = clock.CreateTimer(_ => Finish(wait), null, time, Timeout.InfiniteTimeSpan);
            Begin(wait);
        }

        await using (timer)
        {
            await EndAsync(wait, cancel);
        }
    }

    /// <summary>Waits until no other loop has these hosts, and takes them until the result is disposed of. In order.</summary>
    public async Task<IDisposable> HostsAsync(IReadOnlyCollection<string> hosts, CancellationToken cancel)
    {
        var wait = new Wait { Hosts = hosts };
        lock (_lock)
        {
            if (IsFree(wait))
            {
                _heldHosts.UnionWith(hosts);
                return new HeldHosts(this, hosts);
            }

            _queue.Add(wait);
            Begin(wait);
        }

        try
        {
            await EndAsync(wait, cancel);
        }
        catch (OperationCanceledException) when (wait.IsGranted)
        {
            Release(hosts);
            throw;
        }

        return new HeldHosts(this, hosts);
    }

    private async Task EndAsync(Wait wait, CancellationToken cancel)
    {
        await using (cancel.UnsafeRegister(_ => Finish(wait, isCanceled: true), null))
        {
            await wait.Ended.Task;
        }

        cancel.ThrowIfCancellationRequested();
    }

    private void Begin(Wait wait)
    {
        _waits.Add(wait);
        StopWorking();
    }

    private void StopWorking()
    {
        if (--_working == 0)
        {
            _idle?.SetResult();
            _idle = null;
        }
    }

    /// <summary>The loop counts as working from here on, not from when its thread runs.</summary>
    private void Finish(Wait wait, bool isCanceled = false)
    {
        lock (_lock)
        {
            if (!_waits.Remove(wait))
            {
                return;
            }

            _working++;
            if (isCanceled)
            {
                _queue.Remove(wait);
            }
        }

        wait.Ended.SetResult();
    }

    private bool IsFree(Wait wait) =>
        !_heldHosts.Overlaps(wait.Hosts)
        && !_queue.TakeWhile(other => other != wait).Any(earlier => earlier.Hosts.Intersect(wait.Hosts).Any());

    private void Release(IReadOnlyCollection<string> hosts)
    {
        List<Wait> next = [];
        lock (_lock)
        {
            _heldHosts.ExceptWith(hosts);
            foreach (Wait wait in _queue.ToArray())
            {
                if (IsFree(wait))
                {
                    _queue.Remove(wait);
                    _heldHosts.UnionWith(wait.Hosts);
                    wait.IsGranted = true;
                    next.Add(wait);
                }
            }
        }

        next.ForEach(wait => Finish(wait));
    }

    private sealed class Wait
    {
        /// <summary>A timestamp of the clock; null for a wait that another loop ends.</summary>
        public long? End { get; init; }

        public IReadOnlyCollection<string> Hosts { get; init; } = [];

        /// <summary>Whether it has its hosts, and has to release them even if it is canceled. Under the lock until it has ended.</summary>
        public bool IsGranted { get; set; }

        public TaskCompletionSource Ended { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);
    }

    private sealed class HeldHosts(LoopWaits waits, IReadOnlyCollection<string> hosts) : IDisposable
    {
        public void Dispose() => waits.Release(hosts);
    }
}
