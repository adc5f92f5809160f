using System.Collections.Concurrent;
using System.Text;
using System.Threading.Channels;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>Stands in for a catalog: records its calls. A test may have it do more at each call, on the watch's thread.</summary>
/// <param name="read">Reads directories, or all (null), as a catalog does.</param>
internal sealed class RecordingCatalog(Action<string[]?> read) : IRefreshable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly Channel<string[]?> _calls = Channel.CreateUnbounded<string[]?>();

    /// <summary>What it does before it reads, with the directories or null for all.</summary>
    public Action<string[]?> OnReported { get; set; } = _ => { };

    /// <summary>What it does after it has read.</summary>
    public Action OnRead { get; set; } = () => { };

    /// <summary>All calls, in order; null for a reload.</summary>
    public ConcurrentQueue<string[]?> Reported { get; } = new();

    public void Refresh(IReadOnlyCollection<DirectoryChange> changes) => Report([.. changes.Select(change => Encoding.UTF8.GetString(change.Path))]);

    public void Reload() => Report(null);

    /// <summary>The next call; null for a reload.</summary>
    public async Task<string[]?> NextAsync() => await _calls.Reader.ReadAsync().AsTask().WaitAsync(Patience);

    /// <summary>Waits until all of these were reported, in one call or several; returns all that came meanwhile.</summary>
    public async Task<IReadOnlySet<string>> RefreshAsync(params string[] directories)
    {
        SortedSet<string> reported = new(StringComparer.Ordinal);
        while (!reported.IsSupersetOf(directories))
        {
            reported.UnionWith(await NextAsync() ?? throw new InvalidOperationException("A reload came, where directories were awaited."));
        }

        return reported;
    }

    public async Task ReloadAsync()
    {
        while (await NextAsync() is not null)
        {
        }
    }

    private void Report(string[]? directories)
    {
        Reported.Enqueue(directories);
        try
        {
            OnReported(directories);
            read(directories);
            OnRead();
        }
        finally
        {
            Assert.True(_calls.Writer.TryWrite(directories));
        }
    }
}
