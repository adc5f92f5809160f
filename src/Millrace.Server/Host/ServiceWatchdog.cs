using Millrace.Engine;

namespace Millrace.Server.Host;

/// <summary>
/// Sends a sign of life as long as every reactor runs: each reactor gets a posted callback, and the sign is sent after all have run it. If
/// a reactor hangs, no sign is sent, and the service manager restarts the process.
/// </summary>
internal sealed class ServiceWatchdog : IAsyncDisposable
{
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _watching;
    private volatile bool _isDraining;

    private ServiceWatchdog(IReadOnlyList<Reactor> reactors, TimeSpan period, Action alive) =>
        _watching = WatchAsync(reactors, period, alive);

    /// <param name="reactors">The reactors to check.</param>
    /// <param name="period">The manager's period; two signs are sent in each.</param>
    /// <param name="alive">Sends the sign.</param>
    public static ServiceWatchdog Start(IReadOnlyList<Reactor> reactors, TimeSpan period, Action alive) => new(reactors, period, alive);

    /// <summary>From now on signs are sent regardless, as reactors stop one by one; the drain has its own deadline.</summary>
    public void Drain() => _isDraining = true;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _watching.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        _stop.Dispose();
    }

    private async Task WatchAsync(IReadOnlyList<Reactor> reactors, TimeSpan period, Action alive)
    {
        Task turned = Task.CompletedTask;
        while (true)
        {
            await Task.Delay(period / 2, _stop.Token);
            if (turned.IsCompleted)
            {
                turned = Task.WhenAll(reactors.Select(static reactor => reactor.PostAsync(static () => { })));
            }

            // Checked again after each delay, so that a drain that begins meanwhile ends the wait.
            await Task.WhenAny(turned, Task.Delay(period / 2, _stop.Token));
            if (turned.IsCompletedSuccessfully || _isDraining)
            {
                alive();
            }
        }
    }
}
