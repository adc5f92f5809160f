namespace Millrace.Engine.Tests.Kit;

/// <summary>A reactor whose kernel never answers any more, stopped: it gives up when its time is over.</summary>
internal static class AbandonedReactor
{
    /// <summary>Longer than all that a reactor grants at its end.</summary>
    private const int GraceMs = 10_000;

    public static async Task StopAsync(Script script)
    {
        Task end = script.Reactor.StopAsync(TimeSpan.Zero);
        await Waiting.UntilAsync(
            () =>
            {
                script.Kernel.AdvanceClock(GraceMs);
                return end.IsCompleted;
            },
            "the reactor gave up");
        await end;
    }
}
