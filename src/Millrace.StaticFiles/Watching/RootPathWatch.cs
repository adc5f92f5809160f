using System.Text;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Watches every directory and symlink on the path of a site's root: when one is replaced (a release is switched, a parent renamed), the
/// site is another one. Not thread-safe.
/// </summary>
internal sealed class RootPathWatch(string root, WatchTable table)
{
    /// <summary>
    /// How often the path is checked if a directory above the root cannot be watched: twice in the 100 ms that a change may take.
    /// </summary>
    public const int PollIntervalMs = 50;

    private readonly byte[] _path = Encoding.UTF8.GetBytes(root);
    private readonly DependencyWatch _dependent = new(WatchTable.AnyRename);
    private FileState _lastState;

    /// <summary>
    /// Whether some directory above the root cannot be watched (not readable by this user, or on a network file system), so that the path
    /// must be polled.
    /// </summary>
    public bool MustPoll { get; private set; }

    /// <summary>Watches the path as far as it leads; <see cref="LeadsTo"/> checks where it ends.</summary>
    public void Follow()
    {
        table.Forget(_dependent);
        MustPoll = false;
        int fd = FileContent.Open(_path is [(byte)'/', ..] ? "/\0"u8 : ".\0"u8, PathWatch.PathFlags);
        if (fd < 0)
        {
            MustPoll = true;
            return;
        }

        _ = PathWatch.Follow(fd, _path, boundary: null, WatchName);
        _lastState = Stat();
    }

    public bool LeadsTo(in FileState directory) => Stat().IsSameFile(directory);

    /// <summary>Whether the path leads elsewhere than at the previous check.</summary>
    public bool HasChanged()
    {
        FileState before = _lastState;
        _lastState = Stat();
        return !_lastState.IsSameFile(before);
    }

    private bool WatchName(int directoryFd, ReadOnlySpan<byte> name)
    {
        MustPoll |= !table.TryWatchName(directoryFd, name, _dependent, out _);
        return true;
    }

    /// <summary>The state of the directory that the catalog would open; the default if it cannot be opened.</summary>
    private FileState Stat()
    {
        _ = FileState.ReadAndClose(FileContent.Open([.. _path, 0], OpenFlags.ReadOnly | OpenFlags.Directory), out FileState state);
        return state;
    }
}
