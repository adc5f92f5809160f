using Microsoft.Extensions.Time.Testing;

namespace Millrace.Acme.Tests.Renewal;

/// <summary>A clock whose wall can be set without moving its timers and timestamps, as an operator does.</summary>
internal sealed class SettableClock(DateTimeOffset begin) : FakeTimeProvider(begin)
{
    public TimeSpan Ahead { get; set; }

    public override DateTimeOffset GetUtcNow() => base.GetUtcNow() + Ahead;

    public override long GetTimestamp() => base.GetUtcNow().UtcTicks;
}
