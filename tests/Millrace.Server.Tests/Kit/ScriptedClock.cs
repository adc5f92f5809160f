namespace Millrace.Server.Tests.Kit;

/// <summary>A clock that moves when a test advances it. Its timers then fire, on the test's thread, as often as they are due.</summary>
internal sealed class ScriptedClock(DateTimeOffset start) : TimeProvider
{
    private readonly List<ScriptedTimer> _timers = [];
    private DateTimeOffset _now = start;

    public override DateTimeOffset GetUtcNow() => _now;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp() => _now.Ticks;

    public void Advance(TimeSpan time)
    {
        DateTimeOffset end = _now + time;
        while (_timers.Where(static timer => !timer.IsDisposed).MinBy(static timer => timer.DueAt) is { } next && next.DueAt <= end)
        {
            _now = next.DueAt;
            next.Fire();
        }

        _now = end;
    }

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period)
    {
        var timer = new ScriptedTimer(callback, state, _now + dueTime, period);
        _timers.Add(timer);
        return timer;
    }

    private sealed class ScriptedTimer(TimerCallback callback, object? state, DateTimeOffset dueAt, TimeSpan period) : ITimer
    {
        public DateTimeOffset DueAt { get; private set; } = dueAt;

        public bool IsDisposed { get; private set; }

        public void Fire()
        {
            DueAt += period;
            callback(state);
        }

        public bool Change(TimeSpan dueTime, TimeSpan period) => throw new NotSupportedException();

        public void Dispose() => IsDisposed = true;

        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }
    }
}
