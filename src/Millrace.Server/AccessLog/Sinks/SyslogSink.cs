using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Millrace.Engine.Listening;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Server.AccessLog.Sinks;

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
