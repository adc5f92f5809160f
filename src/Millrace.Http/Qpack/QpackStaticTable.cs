namespace Millrace.Http;

/// <summary>
/// The static table of QPACK, RFC 9204 appendix A. Its indices start at 0; entries with the same name may be apart. Read-only, for any
/// thread.
/// </summary>
internal static class QpackStaticTable
{
    public const int Count = 99;

    /// <summary>access-control-allow-credentials.</summary>
    private const int NameBytesMax = 32;

    private static readonly byte[][][] Entries =
    [
        Entry(":authority"u8),
        Entry(":path"u8, "/"u8),
        Entry("age"u8, "0"u8),
        Entry("content-disposition"u8),
        Entry("content-length"u8, "0"u8),
        Entry("cookie"u8),
        Entry("date"u8),
        Entry("etag"u8),
        Entry("if-modified-since"u8),
        Entry("if-none-match"u8),
        Entry("last-modified"u8),
        Entry("link"u8),
        Entry("location"u8),
        Entry("referer"u8),
        Entry("set-cookie"u8),
        Entry(":method"u8, "CONNECT"u8),
        Entry(":method"u8, "DELETE"u8),
        Entry(":method"u8, "GET"u8),
        Entry(":method"u8, "HEAD"u8),
        Entry(":method"u8, "OPTIONS"u8),
        Entry(":method"u8, "POST"u8),
        Entry(":method"u8, "PUT"u8),
        Entry(":scheme"u8, "http"u8),
        Entry(":scheme"u8, "https"u8),
        Entry(":status"u8, "103"u8),
        Entry(":status"u8, "200"u8),
        Entry(":status"u8, "304"u8),
        Entry(":status"u8, "404"u8),
        Entry(":status"u8, "503"u8),
        Entry("accept"u8, "*/*"u8),
        Entry("accept"u8, "application/dns-message"u8),
        Entry("accept-encoding"u8, "gzip, deflate, br"u8),
        Entry("accept-ranges"u8, "bytes"u8),
        Entry("access-control-allow-headers"u8, "cache-control"u8),
        Entry("access-control-allow-headers"u8, "content-type"u8),
        Entry("access-control-allow-origin"u8, "*"u8),
        Entry("cache-control"u8, "max-age=0"u8),
        Entry("cache-control"u8, "max-age=2592000"u8),
        Entry("cache-control"u8, "max-age=604800"u8),
        Entry("cache-control"u8, "no-cache"u8),
        Entry("cache-control"u8, "no-store"u8),
        Entry("cache-control"u8, "public, max-age=31536000"u8),
        Entry("content-encoding"u8, "br"u8),
        Entry("content-encoding"u8, "gzip"u8),
        Entry("content-type"u8, "application/dns-message"u8),
        Entry("content-type"u8, "application/javascript"u8),
        Entry("content-type"u8, "application/json"u8),
        Entry("content-type"u8, "application/x-www-form-urlencoded"u8),
        Entry("content-type"u8, "image/gif"u8),
        Entry("content-type"u8, "image/jpeg"u8),
        Entry("content-type"u8, "image/png"u8),
        Entry("content-type"u8, "text/css"u8),
        Entry("content-type"u8, "text/html; charset=utf-8"u8),
        Entry("content-type"u8, "text/plain"u8),
        Entry("content-type"u8, "text/plain;charset=utf-8"u8),
        Entry("range"u8, "bytes=0-"u8),
        Entry("strict-transport-security"u8, "max-age=31536000"u8),
        Entry("strict-transport-security"u8, "max-age=31536000; includesubdomains"u8),
        Entry("strict-transport-security"u8, "max-age=31536000; includesubdomains; preload"u8),
        Entry("vary"u8, "accept-encoding"u8),
        Entry("vary"u8, "origin"u8),
        Entry("x-content-type-options"u8, "nosniff"u8),
        Entry("x-xss-protection"u8, "1; mode=block"u8),
        Entry(":status"u8, "100"u8),
        Entry(":status"u8, "204"u8),
        Entry(":status"u8, "206"u8),
        Entry(":status"u8, "302"u8),
        Entry(":status"u8, "400"u8),
        Entry(":status"u8, "403"u8),
        Entry(":status"u8, "421"u8),
        Entry(":status"u8, "425"u8),
        Entry(":status"u8, "500"u8),
        Entry("accept-language"u8),
        Entry("access-control-allow-credentials"u8, "FALSE"u8),
        Entry("access-control-allow-credentials"u8, "TRUE"u8),
        Entry("access-control-allow-headers"u8, "*"u8),
        Entry("access-control-allow-methods"u8, "get"u8),
        Entry("access-control-allow-methods"u8, "get, post, options"u8),
        Entry("access-control-allow-methods"u8, "options"u8),
        Entry("access-control-expose-headers"u8, "content-length"u8),
        Entry("access-control-request-headers"u8, "content-type"u8),
        Entry("access-control-request-method"u8, "get"u8),
        Entry("access-control-request-method"u8, "post"u8),
        Entry("alt-svc"u8, "clear"u8),
        Entry("authorization"u8),
        Entry("content-security-policy"u8, "script-src 'none'; object-src 'none'; base-uri 'none'"u8),
        Entry("early-data"u8, "1"u8),
        Entry("expect-ct"u8),
        Entry("forwarded"u8),
        Entry("if-range"u8),
        Entry("origin"u8),
        Entry("purpose"u8, "prefetch"u8),
        Entry("server"u8),
        Entry("timing-allow-origin"u8, "*"u8),
        Entry("upgrade-insecure-requests"u8, "1"u8),
        Entry("user-agent"u8),
        Entry("x-forwarded-for"u8),
        Entry("x-frame-options"u8, "deny"u8),
        Entry("x-frame-options"u8, "sameorigin"u8),
    ];

    /// <summary>By index: the first entry of HPACK's table with this name, or 0.</summary>
    private static readonly byte[] HpackIndices = [.. Entries.Select(entry => (byte)StaticTable.Find(entry[0]))];

    /// <summary>By length: the indices of the entries whose names are so long, those of one name in their order.</summary>
    private static readonly byte[][] IndicesByNameBytes =
        [.. Enumerable.Range(0, NameBytesMax + 1).Select(WithNameBytes)];

    public static ReadOnlySpan<byte> Name(int index) => Entries[index][0];

    public static ReadOnlySpan<byte> Value(int index) => Entries[index][1];

    /// <summary>
    /// The first entry of HPACK's static table with the name of this one, which <see cref="IHpackSink"/> gets; 0 if there is none.
    /// </summary>
    public static int HpackIndex(int index) => HpackIndices[index];

    /// <summary>
    /// The entry with a lower-case name and a value, or else one with the name. False if the table does not have the name.
    /// </summary>
    public static bool TryFind(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, out int index, out bool hasValue)
    {
        index = -1;
        hasValue = false;
        if (name.Length > NameBytesMax)
        {
            return false;
        }

        foreach (byte candidate in IndicesByNameBytes[name.Length])
        {
            if (!name.SequenceEqual(Name(candidate)))
            {
                continue;
            }

            index = index < 0 ? candidate : index;
            if (value.SequenceEqual(Value(candidate)))
            {
                index = candidate;
                hasValue = true;
                break;
            }
        }

        return index >= 0;
    }

    private static byte[] WithNameBytes(int bytes)
        => [.. Enumerable.Range(0, Count).Where(index => Name(index).Length == bytes).Select(index => (byte)index)];

    private static byte[][] Entry(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value = default) => [name.ToArray(), value.ToArray()];
}
