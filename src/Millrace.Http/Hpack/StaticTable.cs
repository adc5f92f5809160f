namespace Millrace.Http;

/// <summary>The static table of HPACK, RFC 7541 appendix A. Its indices start at 1; entries with the same name are adjacent.</summary>
internal static class StaticTable
{
    public const int Count = 61;

    /// <summary>access-control-allow-origin.</summary>
    private const int NameBytesMax = 27;

    private static readonly byte[][][] Entries =
    [
        Entry(":authority"u8),
        Entry(":method"u8, "GET"u8),
        Entry(":method"u8, "POST"u8),
        Entry(":path"u8, "/"u8),
        Entry(":path"u8, "/index.html"u8),
        Entry(":scheme"u8, "http"u8),
        Entry(":scheme"u8, "https"u8),
        Entry(":status"u8, "200"u8),
        Entry(":status"u8, "204"u8),
        Entry(":status"u8, "206"u8),
        Entry(":status"u8, "304"u8),
        Entry(":status"u8, "400"u8),
        Entry(":status"u8, "404"u8),
        Entry(":status"u8, "500"u8),
        Entry("accept-charset"u8),
        Entry("accept-encoding"u8, "gzip, deflate"u8),
        Entry("accept-language"u8),
        Entry("accept-ranges"u8),
        Entry("accept"u8),
        Entry("access-control-allow-origin"u8),
        Entry("age"u8),
        Entry("allow"u8),
        Entry("authorization"u8),
        Entry("cache-control"u8),
        Entry("content-disposition"u8),
        Entry("content-encoding"u8),
        Entry("content-language"u8),
        Entry("content-length"u8),
        Entry("content-location"u8),
        Entry("content-range"u8),
        Entry("content-type"u8),
        Entry("cookie"u8),
        Entry("date"u8),
        Entry("etag"u8),
        Entry("expect"u8),
        Entry("expires"u8),
        Entry("from"u8),
        Entry("host"u8),
        Entry("if-match"u8),
        Entry("if-modified-since"u8),
        Entry("if-none-match"u8),
        Entry("if-range"u8),
        Entry("if-unmodified-since"u8),
        Entry("last-modified"u8),
        Entry("link"u8),
        Entry("location"u8),
        Entry("max-forwards"u8),
        Entry("proxy-authenticate"u8),
        Entry("proxy-authorization"u8),
        Entry("range"u8),
        Entry("referer"u8),
        Entry("refresh"u8),
        Entry("retry-after"u8),
        Entry("server"u8),
        Entry("set-cookie"u8),
        Entry("strict-transport-security"u8),
        Entry("transfer-encoding"u8),
        Entry("user-agent"u8),
        Entry("vary"u8),
        Entry("via"u8),
        Entry("www-authenticate"u8),
    ];

    private static readonly byte[] FirstWithName =
        [0, .. Entries.Select(entry => (byte)(1 + Array.FindIndex(Entries, other => other[0].AsSpan().SequenceEqual(entry[0]))))];

    private static readonly byte[][] IndicesByNameBytes =
        [.. Enumerable.Range(0, NameBytesMax + 1).Select(WithNameBytes)];

    public static ReadOnlySpan<byte> Name(int index) => Entries[index - 1][0];

    public static ReadOnlySpan<byte> Value(int index) => Entries[index - 1][1];

    /// <summary>The first entry that has the name of this one.</summary>
    public static int FirstWith(int index) => FirstWithName[index];

    /// <summary>The first entry with a lower-case name; 0 if there is none.</summary>
    public static int Find(ReadOnlySpan<byte> name)
    {
        if (name.Length >= IndicesByNameBytes.Length)
        {
            return 0;
        }

        foreach (byte index in IndicesByNameBytes[name.Length])
        {
            if (name.SequenceEqual(Name(index)))
            {
                return index;
            }
        }

        return 0;
    }

    private static byte[] WithNameBytes(int bytes)
        => [.. FirstWithName.Skip(1).Distinct().Where(index => Name(index).Length == bytes)];

    private static byte[][] Entry(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value = default) => [name.ToArray(), value.ToArray()];
}
