using System.Text;

namespace Millrace.Tests.Shared;

/// <summary>
/// Field sections of QPACK (RFC 9204) as a client sends them: entries of the static table and literals, without Huffman and without a
/// dynamic table.
/// </summary>
internal static class QpackFields
{
    private const string Table = """
        :authority|
        :path|/
        age|0
        content-disposition|
        content-length|0
        cookie|
        date|
        etag|
        if-modified-since|
        if-none-match|
        last-modified|
        link|
        location|
        referer|
        set-cookie|
        :method|CONNECT
        :method|DELETE
        :method|GET
        :method|HEAD
        :method|OPTIONS
        :method|POST
        :method|PUT
        :scheme|http
        :scheme|https
        :status|103
        :status|200
        :status|304
        :status|404
        :status|503
        accept|*/*
        accept|application/dns-message
        accept-encoding|gzip, deflate, br
        accept-ranges|bytes
        access-control-allow-headers|cache-control
        access-control-allow-headers|content-type
        access-control-allow-origin|*
        cache-control|max-age=0
        cache-control|max-age=2592000
        cache-control|max-age=604800
        cache-control|no-cache
        cache-control|no-store
        cache-control|public, max-age=31536000
        content-encoding|br
        content-encoding|gzip
        content-type|application/dns-message
        content-type|application/javascript
        content-type|application/json
        content-type|application/x-www-form-urlencoded
        content-type|image/gif
        content-type|image/jpeg
        content-type|image/png
        content-type|text/css
        content-type|text/html; charset=utf-8
        content-type|text/plain
        content-type|text/plain;charset=utf-8
        range|bytes=0-
        strict-transport-security|max-age=31536000
        strict-transport-security|max-age=31536000; includesubdomains
        strict-transport-security|max-age=31536000; includesubdomains; preload
        vary|accept-encoding
        vary|origin
        x-content-type-options|nosniff
        x-xss-protection|1; mode=block
        :status|100
        :status|204
        :status|206
        :status|302
        :status|400
        :status|403
        :status|421
        :status|425
        :status|500
        accept-language|
        access-control-allow-credentials|FALSE
        access-control-allow-credentials|TRUE
        access-control-allow-headers|*
        access-control-allow-methods|get
        access-control-allow-methods|get, post, options
        access-control-allow-methods|options
        access-control-expose-headers|content-length
        access-control-request-headers|content-type
        access-control-request-method|get
        access-control-request-method|post
        alt-svc|clear
        authorization|
        content-security-policy|script-src 'none'; object-src 'none'; base-uri 'none'
        early-data|1
        expect-ct|
        forwarded|
        if-range|
        origin|
        purpose|prefetch
        server|
        timing-allow-origin|*
        upgrade-insecure-requests|1
        user-agent|
        x-forwarded-for|
        x-frame-options|deny
        x-frame-options|sameorigin
        """;

    /// <summary>Appendix A.</summary>
    public static IReadOnlyList<(string Name, string Value)> Static { get; } =
        [.. Table.Split('\n').Select(static line => line.Split('|')).Select(static parts => (parts[0], parts[1]))];

    public static byte[] Section(params ReadOnlySpan<(string Name, string Value)> fields)
    {
        List<byte> section = [0, 0];
        foreach ((string name, string value) in fields)
        {
            Add(section, name, value);
        }

        return [.. section];
    }

    /// <summary>An integer after so many bits of a prefix, which has the pattern before it (RFC 7541, section 5.1).</summary>
    public static byte[] Integer(int pattern, int prefixBits, long value)
    {
        int most = (1 << prefixBits) - 1;
        if (value < most)
        {
            return [(byte)(pattern | (int)value)];
        }

        List<byte> bytes = [(byte)(pattern | most)];
        for (value -= most; value >= 128; value >>= 7)
        {
            bytes.Add((byte)(value | 128));
        }

        bytes.Add((byte)value);
        return [.. bytes];
    }

    /// <summary>Its length after so many bits of a prefix, and then a string.</summary>
    public static byte[] Text(int pattern, int prefixBits, string text)
    {
        byte[] bytes = Encoding.Latin1.GetBytes(text);
        return [.. Integer(pattern, prefixBits, bytes.Length), .. bytes];
    }

    /// <summary>"Insert with Literal Name", for the encoder stream (section 4.3.3).</summary>
    public static byte[] Insert(string name, string value) => [.. Text(0x40, 5, name), .. Text(0x00, 7, value)];

    /// <summary>"Set Dynamic Table Capacity", for the encoder stream (section 4.3.1).</summary>
    public static byte[] Capacity(long bytes) => Integer(0x20, 5, bytes);

    private static void Add(List<byte> section, string name, string value)
    {
        int exact = -1;
        int named = -1;
        for (int i = Static.Count - 1; i >= 0; i--)
        {
            named = Static[i].Name == name ? i : named;
            exact = Static[i] == (name, value) ? i : exact;
        }

        if (exact >= 0)
        {
            section.AddRange(Integer(0xC0, 6, exact));
        }
        else if (named >= 0)
        {
            section.AddRange([.. Integer(0x50, 4, named), .. Text(0x00, 7, value)]);
        }
        else
        {
            section.AddRange([.. Text(0x20, 3, name), .. Text(0x00, 7, value)]);
        }
    }
}
