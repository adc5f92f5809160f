using System.Diagnostics;
using Millrace.Http;

namespace Millrace.Web.Http1;

/// <summary>The Date field of answers (RFC 9110, 6.6.1), formatted once a second. One per reactor.</summary>
internal sealed class DateField
{
    public const int LineBytes = 6 + HttpDate.Bytes + 2;

    private readonly byte[] _line = "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n"u8.ToArray();
    private long _validUntilMs = long.MinValue;

    /// <summary>The whole line with its end, right at the given moment of the reactor's clock.</summary>
    public ReadOnlySpan<byte> LineAt(long nowMs)
    {
        if (nowMs >= _validUntilMs)
        {
            Format(DateTime.UtcNow, nowMs);
        }

        return _line;
    }

    private void Format(DateTime now, long nowMs)
    {
        Debug.Assert(_line.Length == LineBytes);
        bool written = HttpDate.TryWrite(new DateTimeOffset(now).ToUnixTimeSeconds(), _line.AsSpan(6));
        Debug.Assert(written, "The clock shows a year beyond four digits.");
        _validUntilMs = nowMs + 1000 - now.Millisecond;
    }
}
