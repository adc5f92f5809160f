namespace Millrace.StaticFiles.Tests.Access;

/// <summary>A clock that moves when the test advances it. Its timers never fire by themselves.</summary>
internal sealed class ManualTime : TimeProvider
{
    private readonly DateTimeOffset _began = DateTimeOffset.UtcNow;
    private long _timestamp = 1;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public void Advance(TimeSpan time) => _timestamp += time.Ticks;

    public override long GetTimestamp() => _timestamp;

    public override DateTimeOffset GetUtcNow() => _began + TimeSpan.FromTicks(_timestamp - 1);

    public override ITimer CreateTimer(TimerCallback callback, object? state, TimeSpan dueTime, TimeSpan period) => new NoTimer();

    private sealed class NoTimer : ITimer
    {
        public bool Change(TimeSpan dueTime, TimeSpan period) => true;

        public void Dispose()
        {
        }

        public ValueTask DisposeAsync() => ValueTask.CompletedTask;
    }
}
