using System.Text;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>A site of real files and a watch on it, which the test shows what a catalogue would.</summary>
internal sealed class WatchLab : IDisposable
{
    private TreeWatch? _watch;

    public TempSite Site { get; } = TempSite.InMemory();

    public RecordingCatalog Catalog { get; } = new();

    public RecordingLog Log { get; } = new();

    public FaultySource Source { get; } = new();

    public WatchMode Mode { get; init; } = WatchMode.Auto;

    /// <summary>What the watch takes for the site's root, where a test wants another name for it.</summary>
    public string? RootName { get; init; }

    public TreeWatch Watch => _watch ??= TreeWatch.Open(RootName ?? Site.Root, Mode, Log, Source);

    /// <summary>Shows the watch these directories and lets it begin.</summary>
    public void Start(params string[] directories)
    {
        foreach (string directory in directories)
        {
            Enter(directory);
        }

        Watch.Start(Catalog);
    }

    public void Enter(string directory)
    {
        int fd = Open((RootName ?? Site.Root) + directory);
        Enter(directory, fd);
        Assert.Equal(0, FileCalls.Close(fd));
    }

    public void Enter(string directory, int fd)
    {
        Assert.Equal(0, FileState.Read(fd, out FileState state));
        Watch.Entering(fd, Encoding.UTF8.GetBytes(directory), state);
    }

    public void Meet(string symlink) => Watch.MetSymlink(Encoding.UTF8.GetBytes(symlink));

    public void Leave(string directory) => Watch.Left(Encoding.UTF8.GetBytes(directory));

    public void Write(string path, string content = "new") => File.WriteAllText(Site.PathOf(path), content);

    public void Rename(string from, string to) => Assert.Equal(0, TestCalls.Rename(Site.PathOf(from), Site.PathOf(to)));

    /// <summary>Puts another symlink in the place of one, at once.</summary>
    public void Swap(string symlink, string target)
    {
        Site.Symlink(symlink + ".next", target);
        Rename(symlink + ".next", symlink);
    }

    public static int Open(string path)
    {
        int fd = FileCalls.OpenAt2(
            FileCalls.WorkingDirectory,
            Encoding.UTF8.GetBytes(path + '\0'),
            new OpenHow { Flags = OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.CloseOnExec });
        Assert.True(fd >= 0);
        return fd;
    }

    public void Dispose()
    {
        Watch.Dispose();
        Assert.True(Source.IsDisposed);
        Site.Dispose();
    }
}
