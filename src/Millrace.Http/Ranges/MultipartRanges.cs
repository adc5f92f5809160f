using System.Text;

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
        _end = Encoding.Latin1.GetBytes($"\r\n--{Encoding.Latin1.GetString(boundary)}--\r\n");
        ContentType = [.. TypePrefix, .. boundary];
        Bytes = _end.Length;
        for (int i = 0; i < ranges.Length; i++)
        {
            _heads[i] = Head(ranges[i], size, partType, boundary);
            Bytes += _heads[i].Length + ranges[i].Length;
        }
    }

    /// <summary>The value of the response's Content-Type.</summary>
    public byte[] ContentType { get; }

    /// <summary>The length of the whole body.</summary>
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
