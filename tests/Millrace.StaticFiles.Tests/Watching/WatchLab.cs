using System.Text;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>A site of real files and a watch on it, which the test notifies as a catalog would.</summary>
internal sealed class WatchLab : IDisposable
{
    private readonly HashSet<string> _directories = new(StringComparer.Ordinal);
    private TreeWatch? _watch;

    public WatchLab() => Catalog = new RecordingCatalog(Read);

    public TempSite Site { get; } = TempSite.InMemory();

    public RecordingCatalog Catalog { get; }

    public RecordingLog Log { get; } = new();

    public FaultySource Source { get; } = new();

    public WatchMode Mode { get; init; } = WatchMode.Auto;

    /// <summary>What the watch takes for the site's root, where a test wants another name for it.</summary>
    public string? RootName { get; init; }

    public TreeWatch Watch => _watch ??= TreeWatch.Open(RootName ?? Site.Root, Mode, new SiteLog(Log), Source);

    private string Root => RootName ?? Site.Root;

    /// <summary>Makes these directories the site, shows them to the watch and lets it begin.</summary>
    public void Start(params string[] directories)
    {
        Array.ForEach(directories, Enter);
        Watch.Start(Catalog);
    }

    /// <summary>A directory becomes part of the site, and is shown to the watch with its symlinks whenever it is read.</summary>
    public void Enter(string directory)
    {
        lock (_directories)
        {
            _directories.Add(directory);
        }

        int fd = TryOpen(Root + directory);
        // It may be gone by now, as it may be for a catalog.
        if (fd < 0)
        {
            return;
        }

        Enter(directory, fd);
        // By its descriptor: .NET takes "a/.." out of a path, whatever a is.
        foreach (string entry in Directory.GetFileSystemEntries($"/proc/self/fd/{fd}/"))
        {
            if (TestCalls.TryReadLink(entry) is not null)
            {
                Meet($"{directory}/{Path.GetFileName(entry)}");
            }
        }

        Assert.Equal(0, FileCalls.Close(fd));
    }

    /// <summary>Shows the watch a directory by a descriptor of the test's own.</summary>
    public void Enter(string directory, int fd)
    {
        Assert.Equal(0, FileState.Read(fd, out FileState state));
        Watch.Entering(fd, Encoding.UTF8.GetBytes(directory), state);
    }

    public void Meet(string symlink) => Watch.MetSymlink(Encoding.UTF8.GetBytes(symlink));

    public void Leave(string directory)
    {
        Forget(directory);
        Watch.Left(Encoding.UTF8.GetBytes(directory));
    }

    /// <summary>A directory is no longer part of the site, without a notification.</summary>
    public void Forget(string directory)
    {
        lock (_directories)
        {
            _directories.Remove(directory);
        }
    }

    public void Write(string path, string content = "new") => File.WriteAllText(Site.PathOf(path), content);

    public void Rename(string from, string to) => Assert.Equal(0, TestCalls.Rename(Site.PathOf(from), Site.PathOf(to)));

    /// <summary>Puts another symlink in the place of one, at once.</summary>
    public void Swap(string symlink, string target)
    {
        Site.Symlink(symlink + ".next", target);
        Rename(symlink + ".next", symlink);
    }

    /// <summary>Waits until the watch has ended and the site is revalidated.</summary>
    public Task IsRevalidatedAsync() => TempSite.UntilAsync(() => Watch.Mode == WatchMode.Revalidate && Source.IsDisposed);

    public static int Open(string path)
    {
        int fd = TryOpen(path);
        Assert.True(fd >= 0);
        return fd;
    }

    public void Dispose()
    {
        Watch.Dispose();
        Assert.True(Source.IsDisposed);
        Site.Dispose();
    }

    private static int TryOpen(string path) => FileCalls.OpenAt2(
        FileCalls.WorkingDirectory,
        Encoding.UTF8.GetBytes(path + '\0'),
        new OpenHow { Flags = OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.CloseOnExec });

    private void Read(string[]? directories)
    {
        string[] known;
        lock (_directories)
        {
            known = [.. (directories ?? [.. _directories]).Where(_directories.Contains)];
        }

        Array.ForEach(known, Enter);
    }
}
