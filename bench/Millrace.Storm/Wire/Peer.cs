using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Storm.Wire;

/// <summary>A client's connection: blocking, since each client has a thread. Everything throws after 30 s.</summary>
internal sealed class Peer : IDisposable
{
    private const int PatienceMs = 30_000;

    private readonly Socket _socket;
    private readonly byte[] _buffer = new byte[64 * 1024];
    private int _start;
    private int _end;

    public Peer(int port, int? receiveBufferBytes = null)
    {
        _socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
        {
            NoDelay = true,
            ReceiveTimeout = PatienceMs,
            SendTimeout = PatienceMs,
        };
        if (receiveBufferBytes is int bytes)
        {
            _socket.ReceiveBufferSize = bytes;
        }

        _socket.Connect(IPAddress.Loopback, port);
    }

    /// <summary>Whether the next question needs another connection.</summary>
    public bool IsEnded { get; private set; }

    public Response Ask(Question question)
    {
        Send([question]);
        return Read();
    }

    /// <summary>Several in one write: they are pipelined.</summary>
    public void Send(ReadOnlySpan<Question> questions)
    {
        var text = new StringBuilder();
        foreach (Question question in questions)
        {
            question.AppendTo(text);
        }

        long now = Stopwatch.GetTimestamp();
        foreach (Question question in questions)
        {
            question.SentAt = now;
        }

        _socket.Send(Encoding.ASCII.GetBytes(text.ToString()));
    }

    /// <param name="pause">Done between two pieces of the body, by slow readers.</param>
    public Response Read(Action? pause = null)
    {
        if (ReadUntil("\r\n\r\n"u8) is not string head)
        {
            IsEnded = true;
            return new Response(0, [], [], IsCut: true);
        }

        long beganAt = Stopwatch.GetTimestamp();
        string[] lines = head.Split("\r\n", StringSplitOptions.RemoveEmptyEntries);
        int status = int.Parse(lines[0].AsSpan(9, 3), CultureInfo.InvariantCulture);
        var fields = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase);
        foreach (string line in lines.AsSpan(1))
        {
            int colon = line.IndexOf(':', StringComparison.Ordinal);
            fields[line[..colon]] = line[(colon + 1)..].Trim();
        }

        IsEnded |= fields.GetValueOrDefault("Connection") == "close";
        if (status is 204 or 304)
        {
            return new Response(status, fields, [], IsCut: false);
        }

        if (fields.GetValueOrDefault("Transfer-Encoding") == "chunked")
        {
            return ReadChunks(status, fields, pause);
        }

        byte[] body = new byte[fields.TryGetValue("Content-Length", out string? length)
            ? int.Parse(length, CultureInfo.InvariantCulture)
            : throw new InvalidDataException($"An answer without a length: {head}")];
        int count = ReadBody(body, pause);
        IsEnded |= count < body.Length;
        return new Response(status, fields, body[..count], IsCut: count < body.Length) { BeganAt = beganAt };
    }

    public void Dispose() => _socket.Dispose();

    private Response ReadChunks(int status, Dictionary<string, string> fields, Action? pause)
    {
        using var body = new MemoryStream();
        while (ReadUntil("\r\n"u8) is string size)
        {
            // With the end of its line.
            byte[] chunk = new byte[int.Parse(size, NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture) + 2];
            int count = ReadBody(chunk, pause);
            body.Write(chunk.AsSpan(0, Math.Min(count, chunk.Length - 2)));
            if (count < chunk.Length)
            {
                break;
            }

            if (chunk.Length == 2)
            {
                return new Response(status, fields, body.ToArray(), IsCut: false);
            }
        }

        IsEnded = true;
        return new Response(status, fields, body.ToArray(), IsCut: true);
    }

    /// <summary>Null where the connection ends before it.</summary>
    private string? ReadUntil(ReadOnlySpan<byte> end)
    {
        while (true)
        {
            int length = _buffer.AsSpan(_start, _end - _start).IndexOf(end);
            if (length >= 0)
            {
                string text = Encoding.Latin1.GetString(_buffer, _start, length);
                _start += length + end.Length;
                return text;
            }

            _buffer.AsSpan(_start, _end - _start).CopyTo(_buffer);
            (_start, _end) = (0, _end - _start);
            int count = Receive(_buffer.AsSpan(_end));
            if (count == 0)
            {
                return null;
            }

            _end += count;
        }
    }

    /// <summary>Returns fewer bytes than there should be where the connection ends or is reset first.</summary>
    private int ReadBody(Span<byte> body, Action? pause)
    {
        int count = Math.Min(body.Length, _end - _start);
        _buffer.AsSpan(_start, count).CopyTo(body);
        _start += count;
        while (count < body.Length)
        {
            pause?.Invoke();
            Span<byte> rest = body[count..];
            int received = Receive(pause is null ? rest : rest[..Math.Min(rest.Length, _buffer.Length)]);
            if (received == 0)
            {
                break;
            }

            count += received;
        }

        return count;
    }

    /// <summary>0 at the end, be it orderly or a reset.</summary>
    private int Receive(Span<byte> destination)
    {
        try
        {
            return _socket.Receive(destination);
        }
        catch (SocketException error) when (error.SocketErrorCode == SocketError.ConnectionReset)
        {
            return 0;
        }
    }
}
