using System.Buffers.Binary;
using System.Diagnostics;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;

namespace Millrace.Http3Load;

/// <summary>
/// One client connection, which keeps a number of requests under way: each that is answered is followed by the next, over all targets in
/// turn. It counts answers, bytes of bodies, and what is not as it should be. Reactor thread.
/// </summary>
internal sealed class LoadConnection(LoadPlan plan, Tally tally, int number) : IQuicConnectionHandler
{
    private const long Http3NoError = 0x100;

    /// <summary>The type of a control stream, and empty SETTINGS: no dynamic table.</summary>
    private static readonly byte[] ControlBytes = [0x00, 0x04, 0x00];

    private readonly Stack<Answer> _free = new();
    private int _next = number;
    private int _missing = plan.Streams;
    private bool _isOver;

    public void OnHandshakeComplete(QuicConnection connection)
    {
        tally.Connected++;
        if (connection.Streams.TryOpen(isBidirectional: false, out QuicStream? control))
        {
            control!.Write(ControlBytes);
        }

        Ask(connection);
    }

    public void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events)
    {
        if (stream.Tag is not Answer answer)
        {
            // The server's own streams: nothing in them concerns a load.
            while (stream.TryRead(out ReadOnlySpan<byte> ignored))
            {
                stream.Consume(ignored.Length);
            }

            return;
        }

        if ((events & (StreamEvents.Reset | StreamEvents.StopSending)) != 0 && !answer.IsOver)
        {
            tally.Resets++;
            End(connection, answer, isGood: false);
        }

        while (!answer.IsOver && stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            long before = answer.BodyBytes;
            answer.Take(bytes);
            stream.Consume(bytes.Length);
            // As they arrive: over a slow path few responses are whole within the time.
            tally.Bytes += _isOver ? 0 : answer.BodyBytes - before;
        }

        if (!answer.IsOver && stream.IsReadToEnd)
        {
            End(connection, answer, answer.IsWhole);
        }

        if ((events & StreamEvents.Closed) != 0)
        {
            stream.Tag = null;
            _free.Push(answer);
        }
    }

    public void OnStreamsAvailable(QuicConnection connection) => Ask(connection);

    public void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
    {
    }

    public void OnClosed(QuicConnection connection, in CloseReason reason)
    {
        if (!_isOver)
        {
            tally.Closed++;
            tally.Reason ??= reason.ToString();
        }
    }

    /// <summary>The time is over: nothing is asked for any more.</summary>
    public void End() => _isOver = true;

    public static long CloseCode => Http3NoError;

    private void End(QuicConnection connection, Answer answer, bool isGood)
    {
        answer.IsOver = true;
        _missing++;
        if (_isOver)
        {
            return;
        }

        if (isGood)
        {
            tally.Add(Stopwatch.GetTimestamp() - answer.AskedAt);
        }
        else
        {
            tally.Wrong++;
            tally.Reason ??= $"status index {answer.Status}, {answer.BodyBytes} bytes instead of {answer.Target!.BodyBytes}";
        }

        Ask(connection);
    }

    private void Ask(QuicConnection connection)
    {
        while (_missing > 0 && !_isOver && connection.Streams.TryOpen(isBidirectional: true, out QuicStream? stream))
        {
            Target target = plan.Targets[_next++ % plan.Targets.Length];
            Answer answer = _free.TryPop(out Answer? used) ? used : new Answer();
            answer.Begin(target);
            stream!.Tag = answer;
            stream.Write(target.Request);
            stream.Finish();
            _missing--;
        }
    }
}

/// <summary>A response as it arrives (RFC 9114, section 4.1): frames are taken apart, and only the status and the size are kept.</summary>
internal sealed class Answer
{
    private const long Data = 0;
    private const long Headers = 1;

    /// <summary>An encoded field section's prefix of two bytes, then ":status 200" of the static table (RFC 9204, appendix A).</summary>
    private const int StatusAt = 2;
    private const byte StatusOk = 0xC0 | 25;

    private readonly byte[] _header = new byte[16];
    private int _headerBytes;
    private long _type;
    private long _left;
    private int _sectionBytes;

    public Target? Target { get; private set; }

    public long AskedAt { get; private set; }

    public long BodyBytes { get; private set; }

    public int Status { get; private set; }

    public bool IsOver { get; set; }

    public bool IsWhole => Status == StatusOk && _left == 0 && _headerBytes == 0 && BodyBytes == Target!.BodyBytes;

    public void Begin(Target target)
    {
        Target = target;
        AskedAt = Stopwatch.GetTimestamp();
        BodyBytes = _left = 0;
        _headerBytes = _sectionBytes = Status = 0;
        IsOver = false;
    }

    public void Take(ReadOnlySpan<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            if (_left == 0)
            {
                _header[_headerBytes++] = bytes[0];
                bytes = bytes[1..];
                TryTakeHeader();
                continue;
            }

            int count = (int)Math.Min(_left, bytes.Length);
            if (_type == Data)
            {
                BodyBytes += count;
            }
            else if (_type == Headers)
            {
                TakeSection(bytes[..count]);
            }

            _left -= count;
            bytes = bytes[count..];
        }
    }

    private void TakeSection(ReadOnlySpan<byte> bytes)
    {
        if (Status == 0 && StatusAt - _sectionBytes is var at && at < bytes.Length)
        {
            Status = bytes[at];
        }

        _sectionBytes += bytes.Length;
    }

    private void TryTakeHeader()
    {
        ReadOnlySpan<byte> header = _header.AsSpan(0, _headerBytes);
        if (TryRead(ref header, out long type) && TryRead(ref header, out long length))
        {
            (_type, _left) = (type, length);
            _headerBytes = 0;
        }
    }

    private static bool TryRead(ref ReadOnlySpan<byte> bytes, out long value)
    {
        value = 0;
        int length = bytes.IsEmpty ? int.MaxValue : 1 << (bytes[0] >> 6);
        if (bytes.Length < length)
        {
            return false;
        }

        Span<byte> padded = stackalloc byte[8];
        padded.Clear();
        bytes[..length].CopyTo(padded[(8 - length)..]);
        padded[8 - length] &= 0x3F;
        value = BinaryPrimitives.ReadInt64BigEndian(padded);
        bytes = bytes[length..];
        return true;
    }
}
