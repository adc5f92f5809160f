using System.Net;
using System.Text;
using Millrace.Http;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Compression;
using Millrace.StaticFiles.Tests.Planning;

namespace Millrace.StaticFiles.Tests.Dictionaries;

/// <summary>What may be sent of a file with a dictionary, beside a second reading of RFC 9842.</summary>
public sealed class DictionarySelectionTests : IDisposable
{
    private const string Path = "/assets/app-3f2a1b9c.js";
    private const string Here = "https://here.example";
    private const string There = "https://there.example";

    private static readonly byte[] Old = TestText.Of(20_000);
    private static readonly byte[] New = [.. Old.AsSpan(0, 9_000), .. "changed"u8, .. Old.AsSpan(9_000)];
    private static readonly DictionaryHash Hash = DictionaryHash.Of(Old);
    private static readonly string Named = NameOf(Old);

    /// <summary>
    /// The codings with a dictionary that may be sent, by the client's Accept-Encoding alone: in the order of its preference, or with '='
    /// if it has none.
    /// </summary>
    private static readonly (string Value, string Wanted)[] Encodings =
    [
        ("", ""), ("gzip, br, zstd, dcb, dcz", "dcb=dcz"), ("dcz", "dcz"), ("DcZ", "dcz"), ("dcb", "dcb"), ("dCb", "dcb"),
        ("br, dcz;q=0.5", ""), ("br, dcb;q=0.5", ""), ("br;q=0.5, dcz;q=0.5", "dcz"), ("br, dcz;q=0", ""), ("dcz, dcz;q=0", ""),
        ("dcb, dcb;q=0", ""), ("*", ""), ("br, dcz;q=2", ""), ("identity;q=0, dcz", "dcz"), ("identity;q=0, dcb", "dcb"),
        ("identity, dcz;q=0.1", ""), ("gzip, br, dcb", "dcb"), ("gzip, br, dcz", "dcz"), ("br, dcb;q=0.9, dcz", "dcz"),
        ("br, dcb, dcz;q=0.9", "dcb"), ("br;q=0.5, dcb;q=0.8, dcz;q=0.6", "dcb>dcz"), ("br;q=0.5, dcz;q=0.8, dcb;q=0.6", "dcz>dcb"),
        ("br, dcb;q=0, dcz", "dcz"), ("br;q=0.1, dcz;q=0.5, dcb;q=0.5", "dcb=dcz"),
    ];

    private static readonly (string Value, bool Names)[] Availables =
        [("", false), (Named, true), (NameOf("other"u8), false), (Named[..^1], false), (Named + ";x", false), ($"{Named}, {Named}", false)];

    private readonly PlannedSite _site = new();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData("", "", "dcb<dcz")]
    [InlineData("*", "", "dcb<dcz")]
    [InlineData(Here, "", "dcb<dcz")]
    [InlineData(Here + "," + There, "", "dcz<dcb")]
    [InlineData("", "/assets/*", "dcb<dcz")]
    [InlineData("*", "/assets/*", "dcb")]
    [InlineData("", "/other/*", "dcz<dcb")]
    [InlineData(Here, "", "dcz")]
    [InlineData("", "", "dcb")]
    public void For_each_set_of_fields_the_answer_is_what_the_rfc_allows(string cors, string restricted, string made)
    {
        Open(cors, restricted, made);
        int sent = 0;
        string?[] sites = [null, "same-origin", "same-site", "cross-site", "none", "Same-Origin", "same-origin, same-origin"];
        string?[] modes = [null, "navigate", "same-origin", "cors", "no-cors", "websocket", "Navigate"];
        string?[] origins = [null, Here, There, "null"];
        foreach ((string encoding, string wanted) in Encodings)
        {
            foreach ((string available, bool names) in Availables)
            {
                foreach ((string? site, string? mode, string? origin) in
                    from site in sites from mode in modes from origin in origins select (site, mode, origin))
                {
                    foreach (bool isHttps in (bool[])[false, true])
                    {
                        Planned plan = Ask(isHttps, encoding, available, site, mode, origin);
                        bool mayDepend = isHttps && restricted != "/assets/*" && IsReadable(site, mode, origin, cors);
                        string expected = mayDepend && names ? Best(wanted, made) : "";
                        bool isExpected = expected.Length > 0;
                        string seen = $"{encoding} | {available} | {site} | {mode} | {origin} | {isHttps} | {cors} | {restricted} | {made}";
                        bool isAcceptable = isExpected || !encoding.StartsWith("identity;q=0", StringComparison.Ordinal);
                        Assert.True(plan.Status == (isAcceptable ? 200 : 406), seen);
                        Assert.True(expected == (plan.Asset is { } asset && asset.Coding.NeedsDictionary() ? NameOf(asset) : ""), seen);
                        Assert.True(
                            (mayDepend && isAcceptable) == (plan.Field("Use-As-Dictionary") == "match=\"/assets/app-*.js\""), seen);
                        sent += isExpected ? 1 : 0;
                    }
                }
            }
        }

        Assert.Equal(restricted != "/assets/*", sent > 0);
    }

    [Fact]
    public void Without_a_variant_the_plain_coding_is_sent()
    {
        Open("", "", "");
        Assert.Equal(ContentCoding.Brotli, Ask(isHttps: true, "br, dcb, dcz", Named).Asset!.Coding);
    }

    [Fact]
    public void A_variant_that_is_larger_than_the_chosen_coding_is_not_sent()
    {
        Open("", "", "dcb<dcz");
        Asset file = _site.Asset(Path);
        byte[] large = new byte[file.VariantFor(ContentCoding.Brotli)!.Size];
        var other = DictionaryHash.Of("larger"u8);
        Assert.Equal(PublishOutcome.Published, _site.Catalog.Publish(file, other, ContentCoding.DictionaryZstd, large));

        Assert.Equal(ContentCoding.Brotli, Ask(isHttps: true, "br, dcb, dcz", NameOf("larger"u8)).Asset!.Coding);
        Assert.Equal(PublishOutcome.Published, _site.Catalog.Publish(file, other, ContentCoding.DictionaryBrotli, large.AsSpan(0, large.Length - 1)));
        Assert.Equal(ContentCoding.DictionaryBrotli, Ask(isHttps: true, "br, dcb, dcz", NameOf("larger"u8)).Asset!.Coding);
        Assert.Equal(ContentCoding.Brotli, Ask(isHttps: true, "br, dcz", NameOf("larger"u8)).Asset!.Coding);
        Assert.Equal(ContentCoding.DictionaryZstd, Ask(isHttps: true, "dcz", NameOf("larger"u8)).Asset!.Coding);
    }

    [Fact]
    public void Each_variant_has_a_tag_of_its_own_and_decodes_to_the_file()
    {
        Open("", "", "dcb<dcz");
        Asset file = _site.Asset(Path);
        Asset variant = Ask(isHttps: true, "br, dcz", Named).Asset!;
        Asset brotli = Ask(isHttps: true, "br, dcb", Named).Asset!;

        string[] tags =
        [
            .. file.Variants!.All.Append(file).Append(brotli).Append(variant).Select(static one => Encoding.ASCII.GetString(one.EntityTag)),
        ];
        Assert.Equal(tags.Length, tags.Distinct().Count());
        Assert.EndsWith("e\"", tags[^2], StringComparison.Ordinal);
        Assert.EndsWith("d\"", tags[^1], StringComparison.Ordinal);
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        Assert.True(new ZstdDictionaryCoder(library).IsCodingOf(variant.InMemoryBody, Old, New, CancellationToken.None));
        Assert.True(variant.MayUseDictionary);
    }

    [Fact]
    public void Conditions_and_ranges_may_be_about_the_variant_that_would_not_be_sent_now()
    {
        Open("", "", "dcb<dcz");
        Asset earlier = Ask(isHttps: true, "br, dcz", Named).Asset!;
        Asset now = Ask(isHttps: true, "br, dcb, dcz", Named).Asset!;
        Assert.Equal((ContentCoding.DictionaryZstd, ContentCoding.DictionaryBrotli), (earlier.Coding, now.Coding));
        string tag = Encoding.ASCII.GetString(earlier.EntityTag);
        string[] fields = ["Accept-Encoding: br, dcb, dcz", $"Available-Dictionary: {Named}"];

        Planned part = _site.Get(Path, [.. fields, "Range: bytes=5-9", $"If-Range: {tag}"]);
        Assert.Equal((206, earlier), (part.Status, part.Asset));
        Assert.Equal((206, ContentCoding.DictionaryZstd), StatusAndCoding(_site.Get(Path, [.. fields, "Range: bytes=5-9", $"If-Match: {tag}"])));
        Assert.Equal((200, ContentCoding.DictionaryBrotli), StatusAndCoding(_site.Get(Path, [.. fields, $"If-None-Match: {tag}"])));
        Assert.Equal((412, ContentCoding.Identity), StatusAndCoding(_site.Get(
            Path, "Accept-Encoding: br, dcb", $"Available-Dictionary: {Named}", $"If-Match: {tag}")));
    }

    [Fact]
    public void Conditions_and_ranges_are_about_the_variant()
    {
        Open("", "", "dcz");
        Asset variant = Ask(isHttps: true, "br, dcz", Named).Asset!;
        string tag = Encoding.ASCII.GetString(variant.EntityTag);
        string[] fields = ["Accept-Encoding: br, dcz", $"Available-Dictionary: {Named}"];
        _site.IsHttps = true;

        Planned known = _site.Get(Path, [.. fields, $"If-None-Match: {tag}"]);
        Assert.Equal((304, variant, null), (known.Status, known.Asset, known.Field("Use-As-Dictionary")));
        Planned part = _site.Get(Path, [.. fields, "Range: bytes=5-9", $"If-Range: {tag}"]);
        Assert.Equal((206, variant, null), (part.Status, part.Asset, part.Field("Use-As-Dictionary")));
        Assert.Equal($"bytes 5-9/{variant.Size}", part.Field("Content-Range"));

        // Without a tag, the uncoded bytes are what a range is of; nor may the variant be sent where the dictionary is not named.
        Assert.Equal((206, ContentCoding.Identity), StatusAndCoding(_site.Get(Path, [.. fields, "Range: bytes=5-9"])));
        Assert.Equal(
            (200, ContentCoding.Brotli), StatusAndCoding(_site.Get(Path, "Accept-Encoding: br, dcz", $"If-None-Match: {tag}")));
        Assert.Equal(
            (200, ContentCoding.Identity),
            StatusAndCoding(_site.Get(Path, "Accept-Encoding: br, dcz", "Range: bytes=5-9", $"If-Range: {tag}")));
        Assert.Equal((412, ContentCoding.Identity), StatusAndCoding(_site.Get(Path, "Accept-Encoding: br, dcz", $"If-Match: {tag}")));
        Assert.Equal((200, ContentCoding.DictionaryZstd), StatusAndCoding(_site.Get(Path, [.. fields, $"If-Match: {tag}"])));
    }

    [Theory]
    [InlineData("no-cache", false)]
    [InlineData("no-store, max-age=9", false)]
    [InlineData("max-age=0", false)]
    [InlineData("public", false)]
    [InlineData("Max-Age=60", true)]
    public void Only_a_response_that_stays_fresh_becomes_a_dictionary(string cacheControl, bool becomes)
    {
        _site.Options = _site.Options with { CacheControl = [new CacheRule("*", cacheControl)] };
        Open("", "", "dcz");

        Assert.Equal(becomes, Ask(isHttps: true, "br", "").Field("Use-As-Dictionary") is not null);
    }

    /// <summary>The algorithm of RFC 9842, section 9.3.3, but for clients that name the site and not the mode.</summary>
    private static bool IsReadable(string? site, string? mode, string? origin, string cors)
    {
        if (site is null or "same-origin")
        {
            return true;
        }

        return mode switch
        {
            "navigate" or "same-origin" => true,
            "cors" => origin is not null && (cors == "*" || cors.Split(',').Contains(origin)),
            _ => false,
        };
    }

    /// <summary>What the client wants most of what was made, and the smaller one if it wants both alike.</summary>
    private static string Best(string wanted, string made)
    {
        string[] smallestFirst = made.Split('<');
        return wanted.Contains('=', StringComparison.Ordinal)
            ? smallestFirst[0]
            : wanted.Split('>').FirstOrDefault(smallestFirst.Contains, "");
    }

    private static (int Status, ContentCoding Coding) StatusAndCoding(Planned plan) =>
        (plan.Status, plan.Asset?.Coding ?? ContentCoding.Identity);

    private static string NameOf(Asset variant) => Encoding.ASCII.GetString(ContentCodings.NameOf(variant.Coding));

    private static string NameOf(ReadOnlySpan<byte> dictionary) =>
        $":{Convert.ToBase64String(System.Security.Cryptography.SHA256.HashData(dictionary))}:";

    /// <param name="cors">The origins that may read the site, separated by commas.</param>
    /// <param name="restricted">The paths that not everybody may read.</param>
    /// <param name="made">The variants for the dictionary, the smallest first, separated by '&lt;'. That of dcb is no valid one.</param>
    private void Open(string cors, string restricted, string made)
    {
        _site.Files.File(Path[1..], New);
        _site.Client = IPAddress.Parse("10.0.0.1");
        _site.Options = _site.Options with
        {
            Compression = true,
            Dictionaries = true,
            Cors = cors.Length == 0 ? null : new CorsOptions { Origins = cors.Split(',') },
            AllowedClients = restricted.Length == 0 ? [] : [new ClientRule(restricted, ["10.0.0.0/8"])],
        };
        Asset file = _site.Asset(Path);
        Assert.True(BodyCoder.TryCode(New, ContentCoding.Brotli, CancellationToken.None, out byte[] brotli));
        Assert.True(BodyCoder.TryCode(New, ContentCoding.Gzip, CancellationToken.None, out byte[] gzip));
        Assert.Equal(
            PublishOutcome.Published,
            _site.Catalog.Publish(file, [new CodedBody(ContentCoding.Brotli, brotli), new CodedBody(ContentCoding.Gzip, gzip)]));
        Assert.True(_site.Catalog.SetDictionary(file, new AssetDictionary("match=\"/assets/app-*.js\""u8.ToArray(), isPage: false)));
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        byte[] coded = new ZstdDictionaryCoder(library).TryCode(New, Old, Hash, New.Length, CancellationToken.None)!;
        foreach (string one in made.Split('<', StringSplitOptions.RemoveEmptyEntries))
        {
            (ContentCoding coding, byte[] bytes) = one == "dcz" ? (ContentCoding.DictionaryZstd, coded)
                : (ContentCoding.DictionaryBrotli, new byte[coded.Length + (made.StartsWith("dcz", StringComparison.Ordinal) ? 5 : -5)]);
            Assert.Equal(PublishOutcome.Published, _site.Catalog.Publish(file, Hash, coding, bytes));
        }
    }

    private Planned Ask(bool isHttps, string encoding, string available, string? site = null, string? mode = null, string? origin = null)
    {
        _site.IsHttps = isHttps;
        return _site.Get(
            Path,
            $"Accept-Encoding: {encoding}",
            $"Available-Dictionary: {available}",
            $"Sec-Fetch-Site: {site}",
            $"Sec-Fetch-Mode: {mode}",
            $"Origin: {origin}");
    }
}
