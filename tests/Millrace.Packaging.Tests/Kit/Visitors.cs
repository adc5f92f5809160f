using System.Net;

namespace Millrace.Packaging.Tests;

/// <summary>Clients of each kind, who ask all the time while something is done to the server. Nobody of them may notice.</summary>
internal sealed class Visitors : IAsyncDisposable
{
    /// <summary>The one who opens a connection for each request.</summary>
    private const int Fresh = 0;

    private static readonly VisitorKind[] Kinds =
    [
        new("HTTPS, a connection each", HttpVersion.Version11, KeepsConnection: false),
        new("HTTPS/1.1", HttpVersion.Version11, KeepsConnection: true),
        new("HTTPS/2", HttpVersion.Version20, KeepsConnection: true),
        new("HTTP", HttpVersion.Version11, KeepsConnection: false, "http"),
    ];

    private static readonly TimeSpan Patience = TimeSpan.FromMinutes(2);

    private readonly CancellationTokenSource _stop = new();
    private readonly Visitor[] _visitors;
    private readonly Task[] _visits;
    private int _numbers;

    private Visitors(NetworkNamespace network, IReadOnlyList<(string Path, byte[] Content)> files)
    {
        _visitors = [.. Kinds.Select(kind => new Visitor(kind, network))];
        _visits = [.. _visitors.Select(visitor =>
            Task.Run(() => visitor.VisitAsync(files, () => Interlocked.Increment(ref _numbers), _stop.Token)))];
    }

    /// <summary>The certificates that new connections were shown.</summary>
    public IReadOnlyList<string> Serials => _visitors[Fresh].Serials;

    public static Visitors Come(NetworkNamespace network, IReadOnlyList<(string Path, byte[] Content)> files) => new(network, files);

    /// <summary>Waits until each of them was answered some more times.</summary>
    public Task MoreAsync()
    {
        int[] targets = [.. _visitors.Select(static visitor => visitor.Count + 20)];
        return UntilAsync(() => _visitors.Zip(targets).All(static pair => pair.First.Count >= pair.Second));
    }

    /// <summary>Waits for something to become so, and has it said at once when one of them fails meanwhile.</summary>
    public async Task UntilAsync(Func<bool> condition)
    {
        using var deadline = new CancellationTokenSource(Patience);
        while (!condition())
        {
            await await Task.WhenAny([.. _visits, Task.Delay(TimeSpan.FromMilliseconds(20), deadline.Token)]);
        }
    }

    /// <summary>Has them go, and gives the numbers of all requests that were answered.</summary>
    public async Task<int[]> LeaveAsync()
    {
        await _stop.CancelAsync();
        await Task.WhenAll(_visits).WaitAsync(Patience);
        return [.. _visitors.SelectMany(static visitor => visitor.Answered)];
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await Task.WhenAll(_visits).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        Array.ForEach(_visitors, static visitor => visitor.Dispose());
        _stop.Dispose();
    }
}
