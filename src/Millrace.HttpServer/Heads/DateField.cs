using System.Diagnostics;
using Millrace.Http;

namespace Millrace.HttpServer.Heads;

/// <summary>The Date field of responses (RFC 9110, section 6.6.1), formatted once a second in each coding. One per reactor.</summary>
/// <param name="clock">The source of the date.</param>
internal sealed class DateField(TimeProvider clock)
{
    public const int LineBytes = 6 + HttpDate.Bytes + 2;

    private readonly byte[] _line = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"u8.ToArray();
    private readonly byte[] _hpack = new byte[LineBytes + 32];
    private readonly byte[] _qpack = new byte[LineBytes + 32];
    private int _hpackBytes;
    private int _qpackBytes;
    private long _validUntilMs = long.MinValue;
    private long _unixSeconds;

    /// <summary>The second that the Date shows, since 1970.</summary>
    public long UnixSecondsAt(long nowMs)
    {
        _ = LineAt(nowMs);
        return _unixSeconds;
    }

    /// <summary>The whole line with its CRLF, for the given time of the reactor's clock.</summary>
    public ReadOnlySpan<byte> LineAt(long nowMs)
    {
        if (nowMs >= _validUntilMs)
        {
            Format(clock.GetUtcNow(), nowMs);
        }

        return _line;
    }

    public ReadOnlySpan<byte> HpackAt(long nowMs)
    {
        ReadOnlySpan<byte> value = LineAt(nowMs)[6..^2];
        if (_hpackBytes == 0)
        {
            _hpackBytes = Make<FieldBlockWriter>(_hpack, value);
        }

        return _hpack.AsSpan(0, _hpackBytes);
    }

    public ReadOnlySpan<byte> QpackAt(long nowMs)
    {
        ReadOnlySpan<byte> value = LineAt(nowMs)[6..^2];
        if (_qpackBytes == 0)
        {
            _qpackBytes = Make<QpackBlockWriter>(_qpack, value);
        }

        return _qpack.AsSpan(0, _qpackBytes);
    }

    private static int Make<TWriter>(Span<byte> room, ReadOnlySpan<byte> value)
        where TWriter : struct, IHeadWriter<TWriter>, allows ref struct
    {
        TWriter writer = TWriter.Over(room);
        writer.Field("Date"u8, value);
        return writer.Finish();
    }

    private void Format(DateTimeOffset now, long nowMs)
    {
        Debug.Assert(_line.Length == LineBytes);
        _unixSeconds = now.ToUnixTimeSeconds();
        bool written = HttpDate.TryWrite(_unixSeconds, _line.AsSpan(6));
        Debug.Assert(written, "The clock shows a year beyond four digits.");
        _hpackBytes = _qpackBytes = 0;
        _validUntilMs = nowMs + 1000 - now.Millisecond;
    }
}
