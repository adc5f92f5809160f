using System.Buffers;
using Millrace.Http;

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
        int encodedBytesMax = PercentEncoding.BytesMaxPerByte * (segment.Length + query.Length);
        Span<byte> room = scratch.ValueRoom(prefix.Length + suffix.Length + 1 + encodedBytesMax);
        prefix.CopyTo(room);
        int written = prefix.Length;
        written += PercentEncoding.Encode(segment, SegmentBytes, room[written..]);
        suffix.CopyTo(room[written..]);
        written += suffix.Length;
        if (!query.IsEmpty)
        {
            room[written++] = (byte)'?';
            written += PercentEncoding.Encode(query, QueryBytes, room[written..]);
        }

        scratch.Commit(PlanFieldName.Location, written);
    }
}
