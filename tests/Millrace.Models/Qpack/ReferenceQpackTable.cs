namespace Millrace.Models;

/// <summary>
/// RFC 9204 appendix A as text, and a slow dynamic table: a list of all entries that were ever inserted, and how many are gone.
/// </summary>
internal sealed class ReferenceQpackTable(int bytesMax)
{
    private const string Text = """
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

    private readonly List<(string Name, string Value)> _all = [];
    private int _gone;

    public static IReadOnlyList<(string Name, string Value)> Static { get; } =
        [.. Text.Split('\n').Select(line => line.Split('|')).Select(parts => (parts[0], parts[1]))];

    public int BytesMax => bytesMax;

    public int Capacity { get; private set; }

    public int InsertCount => _all.Count;

    public int Count => _all.Count - _gone;

    public int Bytes => _all.Skip(_gone).Sum(SizeOf);

    public static int SizeOf((string Name, string Value) entry) => entry.Name.Length + entry.Value.Length + 32;

    public void SetCapacity(int capacity)
    {
        Capacity = capacity;
        Evict(capacity);
    }

    /// <summary>False for an entry that is larger than the table.</summary>
    public bool Add((string Name, string Value) entry)
    {
        if (SizeOf(entry) > Capacity)
        {
            return false;
        }

        Evict(Capacity - SizeOf(entry));
        _all.Add(entry);
        return true;
    }

    /// <summary>By absolute index; null if it is gone, or not there yet.</summary>
    public (string Name, string Value)? Find(decimal index) => index >= _gone && index < _all.Count ? _all[(int)index] : null;

    private void Evict(int bytes)
    {
        while (Bytes > bytes)
        {
            _gone++;
        }
    }
}
