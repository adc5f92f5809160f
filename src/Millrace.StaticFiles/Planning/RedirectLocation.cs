using System.Buffers;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// The Location of a directory that was asked for without its slash: a relative reference of one segment, "dir/?query"
/// (RFC 9110, section 10.2.2; RFC 3986, section 4.2). Relative to the last segment, it holds behind proxies that strip a prefix, and it
/// can start neither with "//", which would lead to another host, nor with a scheme.
/// </summary>
internal readonly ref struct RedirectLocation
{
    /// <summary>What a path segment holds as it is: pchar without ':' which would make a scheme of what precedes it.</summary>
    private static readonly SearchValues<byte> SegmentBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=@"u8);

    /// <summary>What a query holds as it is: it was sent encoded, so '%' stays. Anything else could end the field or the line.</summary>
    private static readonly SearchValues<byte> QueryBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=@:/?%[]{}|^`\\"u8);

    private readonly ReadOnlySpan<byte> _segment;
    private readonly ReadOnlySpan<byte> _query;

    private RedirectLocation(ReadOnlySpan<byte> segment, ReadOnlySpan<byte> query)
    {
        _segment = segment;
        _query = query;
    }

    public bool IsEmpty => _segment.IsEmpty;

    /// <summary>What <see cref="Write"/> needs at most: each byte may become three.</summary>
    public int BytesMax => (3 * _segment.Length) + 1 + (_query.IsEmpty ? 0 : 1 + (3 * _query.Length));

    public static RedirectLocation WithSlash(ReadOnlySpan<byte> decodedPath, ReadOnlySpan<byte> query) =>
        new(decodedPath[(decodedPath.LastIndexOf((byte)'/') + 1)..], query);

    /// <summary>Writes the field's value and gives its length.</summary>
    /// <param name="destination">At least <see cref="BytesMax"/> bytes.</param>
    public int Write(Span<byte> destination)
    {
        int written = Encode(_segment, SegmentBytes, destination);
        destination[written++] = (byte)'/';
        if (!_query.IsEmpty)
        {
            destination[written++] = (byte)'?';
            written += Encode(_query, QueryBytes, destination[written..]);
        }

        return written;
    }

    private static int Encode(ReadOnlySpan<byte> bytes, SearchValues<byte> plain, Span<byte> destination)
    {
        ReadOnlySpan<byte> digits = "0123456789ABCDEF"u8;
        int written = 0;
        foreach (byte value in bytes)
        {
            if (plain.Contains(value))
            {
                destination[written++] = value;
            }
            else
            {
                destination[written++] = (byte)'%';
                destination[written++] = digits[value >> 4];
                destination[written++] = digits[value & 15];
            }
        }

        return written;
    }
}
