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

    /// <summary>Whether the coding with a dictionary may be sent, by the client's Accept-Encoding alone.</summary>
    private static readonly (string Value, bool Accepts)[] Encodings =
    [
        ("", false), ("gzip, br, zstd, dcb, dcz", true), ("dcz", true), ("DcZ", true), ("br, dcz;q=0.5", false), ("br;q=0.5, dcz;q=0.5", true),
        ("br, dcz;q=0", false), ("dcz, dcz;q=0", false), ("*", false), ("br, dcz;q=2", false), ("identity;q=0, dcz", true),
        ("identity, dcz;q=0.1", false), ("gzip, br, dcb", false),
    ];

    private static readonly (string Value, bool Names)[] Availables =
        [("", false), (Named, true), (NameOf("other"u8), false), (Named[..^1], false), (Named + ";x", false), ($"{Named}, {Named}", false)];

    private readonly PlannedSite _site = new();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData("", "")]
    [InlineData("*", "")]
    [InlineData(Here, "")]
    [InlineData(Here + "," + There, "")]
    [InlineData("", "/assets/*")]
    [InlineData("*", "/assets/*")]
    [InlineData("", "/other/*")]
    public void For_each_set_of_fields_the_answer_is_what_the_rfc_allows(string cors, string restricted)
    {
        Open(cors, restricted, hasVariant: true);
        int sent = 0;
        string?[] sites = [null, "same-origin", "same-site", "cross-site", "none", "Same-Origin", "same-origin, same-origin"];
        string?[] modes = [null, "navigate", "same-origin", "cors", "no-cors", "websocket", "Navigate"];
        string?[] origins = [null, Here, There, "null"];
        foreach ((string encoding, bool accepts) in Encodings)
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
                        bool isExpected = mayDepend && accepts && names;
                        string seen = $"{encoding} | {available} | {site} | {mode} | {origin} | {isHttps} | {cors} | {restricted}";
                        bool isAcceptable = isExpected || !encoding.StartsWith("identity;q=0", StringComparison.Ordinal);
                        Assert.True(plan.Status == (isAcceptable ? 200 : 406), seen);
                        Assert.True(isExpected == (plan.Asset?.Coding == ContentCoding.DictionaryZstd), seen);
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
        Open("", "", hasVariant: false);
        Assert.Equal(ContentCoding.Brotli, Ask(isHttps: true, "br, dcz", Named).Asset!.Coding);
    }

    [Fact]
    public void A_variant_that_is_larger_than_the_chosen_coding_is_not_sent()
    {
        Open("", "", hasVariant: true);
        Asset file = _site.Asset(Path);
        byte[] large = new byte[file.VariantFor(ContentCoding.Brotli)!.Size];
        var other = DictionaryHash.Of("larger"u8);
        Assert.Equal(PublishOutcome.Published, _site.Catalog.Publish(file, other, large));

        Assert.Equal(ContentCoding.Brotli, Ask(isHttps: true, "br, dcz", NameOf("larger"u8)).Asset!.Coding);
        Assert.Equal(ContentCoding.DictionaryZstd, Ask(isHttps: true, "dcz", NameOf("larger"u8)).Asset!.Coding);
    }

    [Fact]
    public void Each_variant_has_a_tag_of_its_own_and_decodes_to_the_file()
    {
        Open("", "", hasVariant: true);
        Asset file = _site.Asset(Path);
        Asset variant = Ask(isHttps: true, "br, dcz", Named).Asset!;

        string[] tags = [.. file.Variants!.All.Append(file).Append(variant).Select(static one => Encoding.ASCII.GetString(one.EntityTag))];
        Assert.Equal(tags.Length, tags.Distinct().Count());
        Assert.EndsWith("d\"", tags[^1], StringComparison.Ordinal);
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        Assert.True(DictionaryCoder.IsCodingOf(library, variant.InMemoryBody, Old, New, CancellationToken.None));
        Assert.True(variant.MayUseDictionary);
    }

    [Fact]
    public void Conditions_and_ranges_are_about_the_variant()
    {
        Open("", "", hasVariant: true);
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
        Open("", "", hasVariant: true);

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

    private static (int Status, ContentCoding Coding) StatusAndCoding(Planned plan) =>
        (plan.Status, plan.Asset?.Coding ?? ContentCoding.Identity);

    private static string NameOf(ReadOnlySpan<byte> dictionary) =>
        $":{Convert.ToBase64String(System.Security.Cryptography.SHA256.HashData(dictionary))}:";

    private void Open(string cors, string restricted, bool hasVariant)
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
        if (hasVariant)
        {
            Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
            byte[]? coded = DictionaryCoder.TryCode(library, New, Old, Hash, New.Length, CancellationToken.None);
            Assert.Equal(PublishOutcome.Published, _site.Catalog.Publish(file, Hash, coded));
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
