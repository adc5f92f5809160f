using Millrace.Engine;

namespace Millrace.Server.Service;

/// <summary>
/// Gives a sign of life as long as every reactor turns: each is asked to run something, and only when all have is the sign given. One that
/// hangs is waited for in vain, and the service manager starts the process anew.
/// </summary>
internal sealed class Watchdog : IAsyncDisposable
{
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _watching;
    private volatile bool _isDraining;

    private Watchdog(IReadOnlyList<Reactor> reactors, TimeSpan period, Action alive) => _watching = WatchAsync(reactors, period, alive);

    /// <param name="reactors">Those that must turn.</param>
    /// <param name="period">Within which a sign is wanted: it is given twice.</param>
    /// <param name="alive">Gives it.</param>
    public static Watchdog Start(IReadOnlyList<Reactor> reactors, TimeSpan period, Action alive) => new(reactors, period, alive);

    /// <summary>From here on reactors end one by one, and answer no more; a deadline of its own bounds that.</summary>
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

            // Looked at again after each delay, so that a drain that begins meanwhile ends the wait.
            await Task.WhenAny(turned, Task.Delay(period / 2, _stop.Token));
            if (turned.IsCompleted || _isDraining)
            {
                alive();
            }
        }
    }
}
