using System.Threading.Channels;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>A site of real files with its catalog and a watch that keeps it true.</summary>
internal sealed class LiveSite : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly Channel<bool> _changes = Channel.CreateUnbounded<bool>();

    /// <summary>Serves files that are there already.</summary>
    /// <param name="files">The files; they stay the caller's.</param>
    /// <param name="root">The name of the root, where it is not the files' own.</param>
    public LiveSite(TempSite files, string? root = null)
    {
        Files = files;
        SiteOptions options = files.Options with { Root = root ?? files.Root };
        Watch = TreeWatch.Open(options.Root, WatchMode.Auto, new SiteLog(Log));
        Catalog = AssetCatalog.Open(options, Watch);
        Catalog.Changed += () => Assert.True(_changes.Writer.TryWrite(true));
        Watch.Start(Catalog);
    }

    public TempSite Files { get; }

    public RecordingLog Log { get; } = new();

    public TreeWatch Watch { get; }

    public AssetCatalog Catalog { get; }

    /// <summary>The body that a request for a path gets now, null where it gets none.</summary>
    public string? Body(string path)
    {
        CatalogSnapshot snapshot = Catalog.Acquire();
        try
        {
            return snapshot.Match(path) == PathMatch.Asset ? snapshot.Body(path) : null;
        }
        finally
        {
            snapshot.Release();
        }
    }

    /// <summary>Waits until a path has this body (null: until it has none).</summary>
    public Task ServesAsync(string path, string? body) =>
        UntilAsync(() => Body(path) == body, () => $"{path} is '{Body(path)}', not '{body}'");

    public async Task UntilAsync(Func<bool> holds, Func<string> otherwise)
    {
        using var patience = new CancellationTokenSource(Patience);
        while (!holds())
        {
            try
            {
                await _changes.Reader.ReadAsync(patience.Token);
            }
            catch (OperationCanceledException)
            {
                Assert.Fail(otherwise());
            }
        }
    }

    public void Rename(string from, string to) => Assert.Equal(0, TestCalls.Rename(Files.PathOf(from), Files.PathOf(to)));

    /// <summary>Puts another symlink in the place of one, at once.</summary>
    public void Swap(string symlink, string target)
    {
        Files.Symlink(symlink + ".next", target);
        Rename(symlink + ".next", symlink);
    }

    public void Dispose()
    {
        Watch.Dispose();
        Catalog.Dispose();
    }
}
