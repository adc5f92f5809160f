using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;
using Millrace.Server.Host;

namespace Millrace.Server.AccessLog;

/// <summary>A destination of lines. Only the writer's thread uses it; calls may block.</summary>
internal interface ILogSink : IDisposable
{
    string Name { get; }

    /// <summary>Opens or reopens the destination; 0, or -errno with the previous state kept.</summary>
    int Open();

    /// <summary>Checks whether it can be opened: 0, or -errno. Creates and writes nothing.</summary>
    int Try();

    /// <summary>
    /// Writes lines; all are whole, except that the first may be the remainder of a line that was partly written. Returns the number of
    /// bytes written, or -errno if none were.
    /// </summary>
    int Write(ReadOnlySpan<byte> lines);
}

/// <summary>Parses the destination of an access log.</summary>
internal static class LogDestination
{
    public const string Forms = "FILE|-|syslog";

    private const string Syslog = "syslog";
    private const string SyslogAt = "syslog:";

    public static bool IsFile(string text) => PathAt(text) == 0;

    /// <summary>Offset of a file's or socket's path in the text; -1 for none.</summary>
    public static int PathAt(string text) => text switch
    {
        "-" or Syslog => -1,
        _ when text.StartsWith(SyslogAt, StringComparison.Ordinal) => SyslogAt.Length,
        _ => 0,
    };

    /// <summary>The message on a destination that cannot be opened.</summary>
    public static string Describe(string name, string text, int errno)
    {
        int at = PathAt(text);
        string reason = at < 0 ? Errno.Describe(errno) : FileProblem.Of(text[at..], errno);
        return $"The access log cannot be opened at {name}: {reason}. "
            + FileProblem.RemedyOf(errno, "Use a file in an existing folder, '-' or 'syslog'.");
    }

    /// <summary>
    /// <c>-</c>, <c>syslog</c> or <c>syslog:SOCKET</c>; any other text is a file's path. The owner gets a file that root creates.
    /// </summary>
    public static ILogSink Of(string text, ServiceUser? owner = null) => text switch
    {
        "-" => new OutputSink(),
        Syslog => new SyslogSink(SyslogSink.DefaultPath),
        _ when text.StartsWith(SyslogAt, StringComparison.Ordinal) => new SyslogSink(text[SyslogAt.Length..]),
        _ => new FileSink(text, owner),
    };
}

/// <summary>
/// Appends to a file. Each write goes to the end (O_APPEND), so that several processes may append, and the file may be truncated. A missing
/// file is created with read and write access for its owner and read access for its group.
/// </summary>
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

/// <summary>Standard output. A slow reader delays only the writer's thread.</summary>
internal sealed class OutputSink : ILogSink
{
    private const int StandardOutput = 1;

    public string Name => "standard output";

    public int Open() => 0;

    public int Try() => 0;

    public int Write(ReadOnlySpan<byte> lines) => (int)FileCalls.Write(StandardOutput, lines);

    public void Dispose()
    {
        // The process owns it.
    }
}

/// <summary>
/// The system log by its local socket: one datagram per line, in the format of libc's <c>syslog(3)</c> (RFC 3164 without a host), which
/// journald, rsyslog and busybox accept. Reconnects after a restart of the daemon.
/// </summary>
internal sealed class SyslogSink(string path) : ILogSink
{
    public const string DefaultPath = "/dev/log";

    private const int None = -1;

    /// <summary>daemon.info: 3 * 8 + 6.</summary>
    private const string Priority = "<30>";

    private readonly byte[] _tag = Encoding.UTF8.GetBytes(
        string.Create(CultureInfo.InvariantCulture, $" millrace[{Environment.ProcessId}]: "));

    private byte[] _datagram = new byte[4 * 1024];
    private int _socket = None;

    public string Name => $"syslog ({path})";

    public int Open()
    {
        byte[] address;
        try
        {
            address = [.. SocketEndPoint.Encode(new UnixDomainSocketEndPoint(path))];
        }
        catch (ArgumentOutOfRangeException)
        {
            return -Errno.EINVAL;
        }

        int opened = SocketCalls.Socket(AddressFamilyNumber.Unix, SocketTypeNumber.Datagram);
        if (opened < 0)
        {
            return opened;
        }

        int result = SocketCalls.Connect(opened, address);
        if (result < 0)
        {
            _ = SocketCalls.Close(opened);
            return result;
        }

        Dispose();
        _socket = opened;
        return 0;
    }

    public int Try()
    {
        int result = Open();
        Dispose();
        return result;
    }

    public int Write(ReadOnlySpan<byte> lines)
    {
        int written = 0;
        while (written < lines.Length)
        {
            int bytes = lines[written..].IndexOf((byte)'\n');
            int result = Send(lines.Slice(written, bytes));
            if (result < 0)
            {
                return written > 0 ? written : result;
            }

            written += bytes + 1;
        }

        return written;
    }

    public void Dispose()
    {
        if (_socket != None)
        {
            _ = SocketCalls.Close(_socket);
            _socket = None;
        }
    }

    private int Send(ReadOnlySpan<byte> line)
    {
        int bytes = Frame(line);
        nint result = FileCalls.Write(_socket, _datagram.AsSpan(0, bytes));
        if (-result is Errno.ECONNREFUSED or Errno.ENOTCONN or Errno.ECONNRESET or Errno.EPIPE or Errno.EBADF && Open() == 0)
        {
            result = FileCalls.Write(_socket, _datagram.AsSpan(0, bytes));
        }

        // A line that is too long for the daemon always will be: it is skipped.
        return result == -Errno.EMSGSIZE ? 0 : (int)result;
    }

    private int Frame(ReadOnlySpan<byte> line)
    {
        string time = DateTime.Now.ToString("MMM d HH:mm:ss", CultureInfo.InvariantCulture);
        string head = Priority + (time[5] == ' ' ? time.Insert(4, " ") : time);
        int bytes = head.Length + _tag.Length + line.Length;
        if (_datagram.Length < bytes)
        {
            _datagram = new byte[2 * bytes];
        }

        int at = Encoding.ASCII.GetBytes(head, _datagram);
        _tag.CopyTo(_datagram, at);
        line.CopyTo(_datagram.AsSpan(at + _tag.Length));
        return bytes;
    }
}
