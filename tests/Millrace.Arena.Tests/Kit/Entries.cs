namespace Millrace.Arena.Tests.Kit;

/// <summary>The entries as processes, each started when it is first asked for; all serve the same board.</summary>
public sealed class Entries : IAsyncDisposable
{
    private readonly Board _board = new();
    private readonly Dictionary<(string Entry, string Backend), RunningEntry> _running = [];

    internal Board Board => _board;

    internal async Task<RunningEntry> GetAsync(string entry, string backend)
    {
        if (!_running.TryGetValue((entry, backend), out RunningEntry? running))
        {
            _running[(entry, backend)] = running = await RunningEntry.StartAsync(entry, backend, _board);
        }

        return running;
    }

    public async ValueTask DisposeAsync()
    {
        foreach (RunningEntry running in _running.Values)
        {
            await running.DisposeAsync();
        }

        _board.Dispose();
    }
}
