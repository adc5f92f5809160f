using System.Buffers;
using Millrace.Http;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// The Location of a redirect that the site itself makes: a relative reference, "dir/?query" (RFC 9110, section 10.2.2; RFC 3986, section
/// 4.2). It is relative to the last segment, so it is right after proxies that strip a prefix, and it starts neither with "//", which would
/// lead to another host, nor with a scheme.
/// </summary>
internal static class RedirectLocation
{
    /// <summary>Bytes that a path segment holds unencoded: pchar without ':', which would turn the text before it into a scheme.</summary>
    private static readonly SearchValues<byte> SegmentBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=@"u8);

    /// <summary>The same, with the slashes between segments.</summary>
    private static readonly SearchValues<byte> PathBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=@/"u8);

    /// <summary>
    /// Bytes that a query holds unencoded: it was sent encoded, so '%' stays. Other bytes could end the field or the line.
    /// </summary>
    private static readonly SearchValues<byte> QueryBytes =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=@:/?%[]{}|^`\\"u8);

    private static ReadOnlySpan<byte> Up => "../"u8;

    /// <summary>
    /// Adds the Location "prefix, so many '../', directory, segment, suffix, ?query". Prefix and suffix are dots and slashes; directory and
    /// segment are decoded, the query is as sent. Each "../" removes one segment, even an empty one.
    /// </summary>
    public static void Add(
        PlanScratch scratch,
        ReadOnlySpan<byte> prefix,
        int levels,
        scoped ReadOnlySpan<byte> directory,
        scoped ReadOnlySpan<byte> segment,
        ReadOnlySpan<byte> suffix,
        scoped ReadOnlySpan<byte> query)
    {
        int encodedBytesMax = PercentEncoding.BytesMaxPerByte * (directory.Length + segment.Length + query.Length);
        Span<byte> room = scratch.ValueRoom(prefix.Length + (levels * Up.Length) + encodedBytesMax + suffix.Length + 1);
        prefix.CopyTo(room);
        int written = prefix.Length;
        for (int level = 0; level < levels; level++)
        {
            Up.CopyTo(room[written..]);
            written += Up.Length;
        }

        written += PercentEncoding.Encode(directory, PathBytes, room[written..]);
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

    /// <summary>The directory to which a reference with this prefix leads from a path, with both of its slashes.</summary>
    public static ReadOnlySpan<byte> DirectoryOf(ReadOnlySpan<byte> path, ReadOnlySpan<byte> prefix)
    {
        ReadOnlySpan<byte> directory = path[..(path.LastIndexOf((byte)'/') + 1)];
        return prefix.StartsWith("../"u8) ? directory[..(directory[..^1].LastIndexOf((byte)'/') + 1)] : directory;
    }
}
