using System.Buffers;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// The Location of a redirect the site makes by itself: a relative reference, "dir/?query" (RFC 9110, section 10.2.2; RFC 3986,
/// section 4.2). Relative to the last segment, it holds behind proxies that strip a prefix, and it can start neither with "//",
/// which would lead to another host, nor with a scheme.
/// </summary>
internal static class RedirectLocation
{
    /// <summary>What a path segment holds as it is: pchar without ':' which would make a scheme of what precedes it.</summary>
    private static readonly SearchValues<byte> SegmentBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=@"u8);

    /// <summary>What a query holds as it is: it was sent encoded, so '%' stays. Anything else could end the field or the line.</summary>
    private static readonly SearchValues<byte> QueryBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=@:/?%[]{}|^`\\"u8);

    /// <summary>Adds the Location "prefix segment suffix ?query", encoding the segment; prefix and suffix are dots and slashes.</summary>
    public static void Add(
        PlanScratch scratch,
        ReadOnlySpan<byte> prefix,
        scoped ReadOnlySpan<byte> segment,
        ReadOnlySpan<byte> suffix,
        scoped ReadOnlySpan<byte> query)
    {
        // Each byte may become three.
        Span<byte> room = scratch.ValueRoom(prefix.Length + (3 * segment.Length) + suffix.Length + 1 + (3 * query.Length));
        prefix.CopyTo(room);
        int written = prefix.Length;
        written += Encode(segment, SegmentBytes, room[written..]);
        suffix.CopyTo(room[written..]);
        written += suffix.Length;
        if (!query.IsEmpty)
        {
            room[written++] = (byte)'?';
            written += Encode(query, QueryBytes, room[written..]);
        }

        scratch.Commit(PlanFieldName.Location, written);
    }

    private static int Encode(scoped ReadOnlySpan<byte> bytes, SearchValues<byte> plain, Span<byte> destination)
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
