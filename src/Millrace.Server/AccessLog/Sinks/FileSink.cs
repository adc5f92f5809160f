using Millrace.Interop;
using Millrace.Interop.Files;

namespace Millrace.Server.AccessLog.Sinks;

/// <summary>
/// A file that is appended to: by several processes if need be, as each write goes to its end (O_APPEND), and after somebody has cut it
/// off. It is made where there is none, for its owner to read and write, and for its group to read.
/// </summary>
internal sealed class FileSink(string path) : ILogSink
{
    private const int None = -1;
    private const ulong OwnerWritesGroupReads = 0b110_100_000;

    /// <summary>Not to wait for the reader of a named pipe: it is there, or the log has none.</summary>
    private const ulong Flags =
        OpenFlags.WriteOnly | OpenFlags.Append | OpenFlags.NoControllingTerminal | OpenFlags.NonBlock | OpenFlags.CloseOnExec;

    private readonly byte[] _pathZ = CString.Of(path);
    private int _file = None;

    public string Name => path;

    public int Open()
    {
        int opened = FileCalls.OpenAt2(
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
}
