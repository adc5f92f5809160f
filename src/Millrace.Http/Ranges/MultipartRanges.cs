using System.Buffers.Text;
using System.Diagnostics;

namespace Millrace.Http;

/// <summary>
/// Several ranges of one representation as multipart/byteranges (RFC 9110, section 14.6): the text before, between and after them, and the
/// total length in advance. Rare (zsync, some PDF readers), so it allocates.
/// </summary>
internal sealed class MultipartRanges
{
    private static ReadOnlySpan<byte> TypePrefix => "multipart/byteranges; boundary="u8;

    private readonly ByteRange[] _ranges;
    private readonly byte[][] _heads;
    private readonly byte[] _end;

    public MultipartRanges(ReadOnlySpan<ByteRange> ranges, long size, ReadOnlySpan<byte> partType, ReadOnlySpan<byte> boundary)
    {
        _ranges = ranges.ToArray();
        _heads = new byte[ranges.Length][];
        _end = [.. "\r\n--"u8, .. boundary, .. "--\r\n"u8];
        ContentType = [.. TypePrefix, .. boundary];
        Bytes = _end.Length;
        for (int i = 0; i < ranges.Length; i++)
        {
            _heads[i] = Head(ranges[i], size, partType, boundary);
            Bytes += _heads[i].Length + ranges[i].Length;
        }
    }

    public byte[] ContentType { get; }

    public long Bytes { get; }

    public int Count => _ranges.Length;

    /// <summary>The text after the last range.</summary>
    public ReadOnlySpan<byte> End => _end;

    public ByteRange this[int part] => _ranges[part];

    /// <summary>The text before a range: its delimiter and its fields.</summary>
    public ReadOnlySpan<byte> HeadOf(int part) => _heads[part];

    private static byte[] Head(ByteRange range, long size, ReadOnlySpan<byte> partType, ReadOnlySpan<byte> boundary)
    {
        Span<byte> contentRange = stackalloc byte[ContentRange.MaxBytes];
        int contentRangeBytes = ContentRange.Write(contentRange, range, size);
        return
        [
            // Also before the first: zsync needs it to find the boundary, and nginx and Apache send it.
            .. "\r\n--"u8,
            .. boundary,
            .. "\r\nContent-Type: "u8,
            .. partType,
            .. "\r\nContent-Range: "u8,
            .. contentRange[..contentRangeBytes],
            .. "\r\n\r\n"u8,
        ];
    }
}

/// <summary>
/// Makes the boundaries of multipart bodies (RFC 2046, section 5.1.1): random, so that no file can contain one on purpose, and new for each
/// response. One per thread.
/// </summary>
/// <param name="random">Of the kernel: what files cannot know.</param>
internal sealed class Boundary(ulong random)
{
    public const int Bytes = 32;

    private const int CounterBytes = 16;

    /// <summary>Characters of six bits in HPACK's code (RFC 7541, appendix B), so that the length of a head does not vary.</summary>
    private const string Digits = "3456789bdfghlmnp";

    private readonly byte[] _text = new byte[Bytes];
    private ulong _next;

    /// <summary>The text of a new boundary, which the caller owns.</summary>
    public byte[] Next()
    {
        if (_next == 0)
        {
            for (int i = 0; i < Bytes - CounterBytes; i++)
            {
                _text[i] = (byte)Digits[(int)(random >> (4 * i)) & 0xF];
            }
        }

        bool formatted = Utf8Formatter.TryFormat(_next++, _text.AsSpan(Bytes - CounterBytes), out int count, new('x', CounterBytes));
        Debug.Assert(formatted && count == CounterBytes);
        return _text.AsSpan().ToArray();
    }
}

/// <summary>Writes values of Content-Range (RFC 9110 section 14.4). The destination has room for <see cref="MaxBytes"/>.</summary>
internal static class ContentRange
{
    /// <summary>"bytes ", three numbers of at most 19 digits, '-' and '/'.</summary>
    public const int MaxBytes = 6 + 19 + 1 + 19 + 1 + 19;

    /// <summary>The value for a part or a 206: <c>bytes 0-4/10</c>. Returns its length.</summary>
    public static int Write(Span<byte> destination, in ByteRange range, long size)
    {
        Debug.Assert(range.First >= 0 && range.First <= range.Last && range.Last < size);
        int written = Append(destination, 0, "bytes "u8, range.First);
        written = Append(destination, written, "-"u8, range.Last);
        return Append(destination, written, "/"u8, size);
    }

    /// <summary>The value for a 416: <c>bytes */10</c>. Returns its length.</summary>
    public static int WriteUnsatisfied(Span<byte> destination, long size) => Append(destination, 0, "bytes */"u8, size);

    private static int Append(Span<byte> destination, int written, ReadOnlySpan<byte> text, long number)
    {
        text.CopyTo(destination[written..]);
        bool fits = Utf8Formatter.TryFormat(number, destination[(written + text.Length)..], out int digits);
        return fits
            ? written + text.Length + digits
            : throw new ArgumentException($"A Content-Range takes up to {MaxBytes} bytes.", nameof(destination));
    }
}
