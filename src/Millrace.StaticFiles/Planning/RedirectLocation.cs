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
    /// Adds the Location "prefix segment suffix ?query", with the segment encoded; prefix and suffix consist of dots and slashes.
    /// </summary>
    public static void Add(
        PlanScratch scratch,
        ReadOnlySpan<byte> prefix,
        scoped ReadOnlySpan<byte> segment,
        ReadOnlySpan<byte> suffix,
        scoped ReadOnlySpan<byte> query) =>
        Add(scratch, prefix, levels: 0, default, segment, suffix, query);

    /// <summary>
    /// Adds the Location of a path that was requested with repeated slashes: up to the root of the site, and down again with single
    /// slashes. Each "../" removes one segment, even an empty one.
    /// </summary>
    /// <param name="scratch">The memory of the plan.</param>
    /// <param name="levels">The number of segments before the last one.</param>
    /// <param name="directory">The decoded directory, from slash to slash.</param>
    /// <param name="segment">The decoded name in it.</param>
    /// <param name="suffix">Slashes.</param>
    /// <param name="query">The query as sent.</param>
    public static void AddFromRoot(
        PlanScratch scratch,
        int levels,
        scoped ReadOnlySpan<byte> directory,
        scoped ReadOnlySpan<byte> segment,
        ReadOnlySpan<byte> suffix,
        scoped ReadOnlySpan<byte> query) =>
        Add(scratch, default, levels, directory[1..], segment, suffix, query);

    private static void Add(
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
}
