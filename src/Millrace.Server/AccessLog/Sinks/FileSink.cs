using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.Host;

namespace Millrace.Server.AccessLog.Sinks;

/// <summary>
/// Appends to a file. Each write goes to the end (O_APPEND), so that several processes may append, and the file may be truncated. A missing
/// file is created with read and write access for its owner and read access for its group.
/// </summary>
/// <param name="path">The path.</param>
/// <param name="owner">The user who gets a file that root creates; null for no change of owner.</param>
internal sealed class FileSink(string path, ServiceUser? owner = null) : ILogSink
{
    private const int None = -1;
    private const ulong OwnerWritesGroupReads = 0b110_100_000;

    /// <summary>Non-blocking open: a named pipe without a reader fails instead of blocking.</summary>
    private const ulong Flags =
        OpenFlags.WriteOnly | OpenFlags.Append | OpenFlags.NoControllingTerminal | OpenFlags.NonBlock | OpenFlags.CloseOnExec;

    private readonly byte[] _pathZ = CString.Of(path);
    private int _file = None;

    public string Name => path;

    /// <summary>Whether the file was created here, and given to its owner.</summary>
    public bool IsNew { get; private set; }

    public int Open()
    {
        int made = owner is { IsOwn: false } ? MakeFor(owner) : -Errno.EEXIST;
        int opened = made >= 0 ? made : FileCalls.OpenAt2(
            FileCalls.WorkingDirectory, _pathZ, new OpenHow { Flags = Flags | OpenFlags.Create, Mode = OwnerWritesGroupReads });
        if (opened < 0)
        {
            return opened;
        }

        Dispose();
        _file = opened;
        return 0;
    }

    public int Try()
    {
        int opened = FileCalls.OpenAt2(FileCalls.WorkingDirectory, _pathZ, new OpenHow { Flags = Flags });
        if (opened >= 0)
        {
            return FileCalls.Close(opened);
        }

        return opened == -Errno.ENOENT ? ParentDirectory.MayMake(path) : opened;
    }

    public int Write(ReadOnlySpan<byte> lines) => (int)FileCalls.Write(_file, lines);

    public void Dispose()
    {
        if (_file != None)
        {
            _ = FileCalls.Close(_file);
            _file = None;
        }
    }

    /// <summary>
    /// Gives away only a file that is created here, never an existing one and never through a symlink, which another user may have placed.
    /// </summary>
    private int MakeFor(ServiceUser user)
    {
        int made = FileCalls.OpenAt2(FileCalls.WorkingDirectory, _pathZ, new OpenHow
        {
            Flags = Flags | OpenFlags.Create | OpenFlags.Exclusive,
            Mode = OwnerWritesGroupReads,
            Resolve = ResolveFlags.NoSymlinks,
        });
        if (made >= 0)
        {
            // Some file systems do not support owners. Whether the user may write is checked after the change of user.
            IsNew = FileCalls.SetOwner(made, user.Id, user.Group) == 0;
        }

        return made;
    }
}
