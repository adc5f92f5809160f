using System.Text;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>Records what a watcher would be notified of.</summary>
internal sealed class RecordingObserver : IDirectoryObserver
{
    public List<string> Entered { get; } = [];

    public List<string> Kept { get; } = [];

    public List<string> Symlinks { get; } = [];

    public List<string> LeftPaths { get; } = [];

    /// <summary>Called before a directory is listed, with its path.</summary>
    public Action<string> OnEntering { get; set; } = _ => { };

    public void Entering(int directoryFd, ReadOnlySpan<byte> path, in FileState state)
    {
        Assert.Equal(0, FileState.Read(directoryFd, out FileState now));
        Assert.True(now.IsSameFile(state));
        string text = Encoding.UTF8.GetString(path);
        Entered.Add(text);
        OnEntering(text);
    }

    public void Keeping(ReadOnlySpan<byte> path) => Kept.Add(Encoding.UTF8.GetString(path));

    public void MetSymlink(ReadOnlySpan<byte> path) => Symlinks.Add(Encoding.UTF8.GetString(path));

    public void Left(ReadOnlySpan<byte> path) => LeftPaths.Add(Encoding.UTF8.GetString(path));

    public void Clear()
    {
        Entered.Clear();
        Kept.Clear();
        Symlinks.Clear();
        LeftPaths.Clear();
    }
}
