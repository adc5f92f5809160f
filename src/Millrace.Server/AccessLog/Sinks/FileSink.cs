using System.Text;
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

    private readonly byte[] _pathZ = [.. Encoding.UTF8.GetBytes(path), 0];
    private int _file = None;

    public string Name => path;

    public int Open()
    {
        // Not to wait for the reader of a named pipe: it is there, or the log has none.
        var how = new OpenHow
        {
            Flags = OpenFlags.WriteOnly | OpenFlags.Create | OpenFlags.Append | OpenFlags.NoControllingTerminal | OpenFlags.NonBlock
                | OpenFlags.CloseOnExec,
            Mode = OwnerWritesGroupReads,
        };
        int opened = FileCalls.OpenAt2(FileCalls.WorkingDirectory, _pathZ, how);
        if (opened < 0)
        {
            return opened;
        }

        Dispose();
        _file = opened;
        return 0;
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
