using System.Diagnostics;
using Millrace.Http;

namespace Millrace.HttpServer.Heads;

/// <summary>The Date field of responses (RFC 9110, section 6.6.1), formatted once a second in each coding. One per reactor.</summary>
/// <param name="clock">The source of the date.</param>
internal sealed class DateField(TimeProvider clock)
{
    public const int LineBytes = 6 + HttpDate.Bytes + 2;

    private readonly byte[] _line = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"u8.ToArray();
    private readonly byte[] _block = new byte[LineBytes + 32];
    private int _blockBytes;
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

    public ReadOnlySpan<byte> BlockAt(long nowMs)
    {
        ReadOnlySpan<byte> value = LineAt(nowMs)[6..^2];
        if (_blockBytes == 0)
        {
            var writer = new FieldBlockWriter(_block);
            writer.Field("Date"u8, value);
            _blockBytes = writer.Finish();
        }

        return _block.AsSpan(0, _blockBytes);
    }

    private void Format(DateTimeOffset now, long nowMs)
    {
        Debug.Assert(_line.Length == LineBytes);
        _unixSeconds = now.ToUnixTimeSeconds();
        bool written = HttpDate.TryWrite(_unixSeconds, _line.AsSpan(6));
        Debug.Assert(written, "The clock shows a year beyond four digits.");
        _blockBytes = 0;
        _validUntilMs = nowMs + 1000 - now.Millisecond;
    }
}
