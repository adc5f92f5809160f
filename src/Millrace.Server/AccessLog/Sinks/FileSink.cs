using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Server.Service;

namespace Millrace.Server.AccessLog.Sinks;

/// <summary>
/// A file that is appended to: by several processes if need be, as each write goes to its end (O_APPEND), and after somebody has cut it
/// off. It is made where there is none, for its owner to read and write, and for its group to read.
/// </summary>
/// <param name="path">Where it is.</param>
/// <param name="owner">To whom it is given where root makes it; null for nobody else.</param>
internal sealed class FileSink(string path, ServiceUser? owner = null) : ILogSink
{
    private const int None = -1;
    private const ulong OwnerWritesGroupReads = 0b110_100_000;

    /// <summary>Not to wait for the reader of a named pipe: it is there, or the log has none.</summary>
    private const ulong Flags =
        OpenFlags.WriteOnly | OpenFlags.Append | OpenFlags.NoControllingTerminal | OpenFlags.NonBlock | OpenFlags.CloseOnExec;

    private readonly byte[] _pathZ = CString.Of(path);
    private int _file = None;

    public string Name => path;

    /// <summary>Whether it was made here, and given to its owner.</summary>
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

        return opened == -Errno.ENOENT ? ParentFolder.MayMake(path) : opened;
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
    /// Nothing is given away but a file that is made here: none that was there before, and none where a symlink leads, as somebody else may
    /// have laid it.
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
            // Some file systems have no owners, and refuse: what the user may do there is seen when the process has become that user.
            IsNew = FileCalls.SetOwner(made, user.Id, user.Group) == 0;
        }

        return made;
    }
}
