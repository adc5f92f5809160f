using BenchmarkDotNet.Attributes;
using Millrace.Engine.Loop;

namespace Millrace.Microbench;

/// <summary>The deadlines of a reactor's connections.</summary>
public class Timing
{
    private const int Connections = 10_000;
    private const int DeadlineMs = 60_000;

    private readonly List<int> _expired = [];
    private TimerQueue _timers = null!;
    private long _nowMs;
    private int _next;

    [GlobalSetup]
    public void Fill()
    {
        _nowMs = 1_000_000;
        _timers = new TimerQueue(_nowMs);
        for (int id = 0; id < Connections; id++)
        {
            _timers.Schedule(id, _nowMs + DeadlineMs);
        }
    }

    [Benchmark]
    public void MoveADeadline()
    {
        _next = (_next + 1) % Connections;
        _timers.Schedule(_next, _nowMs + DeadlineMs + (_next & 1023));
    }

    [Benchmark(Baseline = true)]
    public long AskHowLongToWait() => _timers.NextDueMs;

    [Benchmark]
    public void AdvanceWithinATick() => _timers.Advance(_nowMs, _expired);
}
