using System.Buffers.Text;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>Writes values of Content-Range (RFC 9110 section 14.4). The destination has room for <see cref="MaxBytes"/>.</summary>
internal static class ContentRange
{
    /// <summary>"bytes ", three numbers of at most 19 digits, '-' and '/'.</summary>
    public const int MaxBytes = 6 + 19 + 1 + 19 + 1 + 19;

    /// <summary>The value for a part or a 206: <c>bytes 0-4/10</c>. Returns its length.</summary>
    public static int Write(Span<byte> destination, in ByteRange range, long size)
    {
        Debug.Assert(range.First >= 0 && range.First <= range.Last && range.Last < size);
        int written = WriteUnit(destination);
        written += WriteNumber(destination[written..], range.First);
        destination[written++] = (byte)'-';
        written += WriteNumber(destination[written..], range.Last);
        return written + WriteSize(destination[written..], size);
    }

    /// <summary>The value for a 416: <c>bytes */10</c>. Returns its length.</summary>
    public static int WriteUnsatisfied(Span<byte> destination, long size)
    {
        int written = WriteUnit(destination);
        destination[written++] = (byte)'*';
        return written + WriteSize(destination[written..], size);
    }

    private static int WriteUnit(Span<byte> destination)
    {
        "bytes "u8.CopyTo(destination);
        return "bytes "u8.Length;
    }

    private static int WriteSize(Span<byte> destination, long size)
    {
        destination[0] = (byte)'/';
        return 1 + WriteNumber(destination[1..], size);
    }

    private static int WriteNumber(Span<byte> destination, long number)
    {
        bool formatted = Utf8Formatter.TryFormat(number, destination, out int written);
        return formatted ? written : throw new ArgumentException($"A Content-Range takes up to {MaxBytes} bytes.", nameof(destination));
    }
}
