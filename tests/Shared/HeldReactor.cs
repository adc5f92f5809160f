using Millrace.Engine;

namespace Millrace.Tests.Shared;

/// <summary>A reactor that is kept in a callback, and comes to nothing else until this is disposed of.</summary>
internal sealed class HeldReactor : IDisposable
{
    /// <summary>Reached only by a test that hangs.</summary>
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly ManualResetEventSlim _release = new();

    private HeldReactor()
    {
    }

    /// <summary>Completed when the reactor is in the callback.</summary>
    public static async Task<HeldReactor> HoldAsync(Reactor reactor)
    {
        var held = new HeldReactor();
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        reactor.Post(
            _ =>
            {
                begun.SetResult();
                held._release.Wait(Patience);
            },
            null);
        await begun.Task.WaitAsync(Patience);
        return held;
    }

    public void Dispose() => _release.Set();
}
