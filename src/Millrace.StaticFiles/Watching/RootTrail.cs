using System.Text;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// The way to the root of a site, every directory and symlink of its name: where one is put in place of another (a release is switched,
/// a parent renamed) the site is another one. Not safe for threads.
/// </summary>
internal sealed class RootTrail(string root, WatchTable table)
{
    /// <summary>
    /// How often the name is looked up where a directory above the root cannot be watched: twice in the 100 ms a change may take.
    /// </summary>
    public const int LookIntervalMs = 50;

    private readonly byte[] _path = Encoding.UTF8.GetBytes(root);
    private readonly Dependent _dependent = new(WatchTable.AnyRename);
    private FileState _seen;

    /// <summary>Whether some directory above the root does not tell: unreadable to this user, or not of this machine.</summary>
    public bool IsBlind { get; private set; }

    /// <summary>Watches the way as far as it leads. What it finds at the end is for <see cref="LeadsTo"/> to say.</summary>
    public void Follow()
    {
        table.Forget(_dependent);
        IsBlind = false;
        var how = new OpenHow { Flags = Trail.Standpoint };
        int fd = FileCalls.OpenAt2(FileCalls.WorkingDirectory, _path is [(byte)'/', ..] ? "/\0"u8 : ".\0"u8, how);
        if (fd < 0)
        {
            IsBlind = true;
            return;
        }

        _ = Trail.Follow(fd, _path, ceiling: null, Mark);
        _seen = Look();
    }

    /// <summary>Whether the name leads to this directory now.</summary>
    public bool LeadsTo(in FileState directory) => Look().IsSameFile(directory);

    /// <summary>Whether the name leads elsewhere than it did when this was asked last.</summary>
    public bool HasTurned()
    {
        FileState before = _seen;
        _seen = Look();
        return !_seen.IsSameFile(before);
    }

    private bool Mark(int directoryFd, ReadOnlySpan<byte> name)
    {
        IsBlind |= !table.TryPass(directoryFd, name, _dependent, out _);
        return true;
    }

    /// <summary>What the catalogue would open; nothing's state where it could not.</summary>
    private FileState Look()
    {
        var how = new OpenHow { Flags = OpenFlags.ReadOnly | OpenFlags.Directory | OpenFlags.CloseOnExec };
        int fd = FileCalls.OpenAt2(FileCalls.WorkingDirectory, [.. _path, 0], how);
        if (fd < 0)
        {
            return default;
        }

        _ = FileState.Read(fd, out FileState state);
        _ = FileCalls.Close(fd);
        return state;
    }
}
