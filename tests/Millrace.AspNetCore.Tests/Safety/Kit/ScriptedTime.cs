namespace Millrace.AspNetCore.Tests.Safety.Kit;

/// <summary>A clock that tests advance. Any thread.</summary>
internal sealed class ScriptedTime : TimeProvider
{
    private long _ticks;

    public override long TimestampFrequency => TimeSpan.TicksPerSecond;

    public override long GetTimestamp() => Volatile.Read(ref _ticks);

    public void AdvanceMs(long milliseconds) => Interlocked.Add(ref _ticks, milliseconds * TimeSpan.TicksPerMillisecond);
}
