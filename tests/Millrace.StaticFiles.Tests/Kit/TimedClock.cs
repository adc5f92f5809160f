namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>A clock that moves when the test advances it, and its timers with it, on the caller's thread.</summary>
internal sealed class TimedClock : TimeProvider
{
    private readonly List<Timed> _timers = [];
    private long _now = TimeSpan.TicksPerDay;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp() => _now;

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new Timed(this, callback, state);
        _ = timer.Change(dueTime, period);
        _timers.Add(timer);
        return timer;
    }

    public void Advance(TimeSpan time)
    {
        long end = _now + time.Ticks;
        while (_timers.MinBy(static timer => timer.DueAt) is Timed next && next.DueAt <= end)
        {
            _now = next.DueAt;
            next.Fire();
        }

        _now = end;
    }

    private sealed class Timed(TimedClock clock, TimerCallback callback, object? state) : ITimer
    {
        private TimeSpan _period;

        public long DueAt { get; private set; } = long.MaxValue;

        public void Fire()
        {
            DueAt = _period < TimeSpan.Zero ? long.MaxValue : DueAt + _period.Ticks;
            callback(state);
        }

        public bool Change(TimeSpan dueTime, TimeSpan period)
        {
            DueAt = dueTime < TimeSpan.Zero ? long.MaxValue : clock._now + dueTime.Ticks;
            _period = period;
            return true;
        }

        public void Dispose() => DueAt = long.MaxValue;

        public ValueTask DisposeAsync()
        {
            Dispose();
            return ValueTask.CompletedTask;
        }
    }
}
