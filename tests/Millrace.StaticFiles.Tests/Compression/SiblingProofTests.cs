using System.IO.Compression;
using System.Text;
using Millrace.Http;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.StaticFiles.Tests.Compression;

/// <summary>A coded file is sent if every client decodes it to its original, and only then.</summary>
public sealed class SiblingProofTests : IDisposable
{
    private static readonly byte[] Content = TestText.Of(700);

    private readonly TempSite _site = TempSite.InMemory();
    private readonly List<(string Name, string Case)> _cases = [];

    public static TheoryData<string> Codings => ["gz", "br", "zst"];

    public void Dispose() => _site.Dispose();

    [Theory]
    [MemberData(nameof(Codings))]
    public void Whatever_its_size_and_place_a_true_one_is_proven(string extension)
    {
        foreach (int size in (int[])[1, 700, 65_535, 65_536, 65_537, 300_000])
        {
            Add(TestText.Of(size), Coded(TestText.Of(size), extension), extension, $"text of {size}");
            Add(TestText.Noise(size), Coded(TestText.Noise(size), extension), extension, $"noise of {size}");
        }

        foreach (SiteOptions options in (SiteOptions[])
            [
                _site.Options with { CacheFileBytesMax = 1_000_000 },
                _site.Options with { CacheFileBytesMax = 0 },
                _site.Options with { CacheFileBytesMax = 0, ReadBytesMax = 0 },
                _site.Options with { CacheFileBytesMax = 0, DescriptorsMax = 0 },
            ])
        {
            using AssetCatalog catalog = TempSite.Open(options);
            Assert.All(_cases, one => Assert.Equal((one.Case, SiblingVerdict.Proven), (one.Case, VerdictOn(catalog, one.Name))));
        }
    }

    [Theory]
    [MemberData(nameof(Codings))]
    public void One_that_is_cut_anywhere_is_not(string extension)
    {
        byte[] coded = Coded(Content, extension);
        for (int i = 0; i < coded.Length; i++)
        {
            Add(Content, coded[..i], extension, $"{i} of {coded.Length} bytes");
        }

        using AssetCatalog catalog = _site.Open();

        Assert.Equal(SiblingVerdict.Empty, VerdictOn(catalog, _cases[0].Name));
        Assert.All(_cases.Skip(1), one =>
            Assert.Equal((one.Case, SiblingVerdict.Incomplete), (one.Case, VerdictOn(catalog, one.Name))));
    }

    [Theory]
    [MemberData(nameof(Codings))]
    public void One_with_a_changed_byte_is_only_proven_if_it_still_decodes(string extension)
    {
        byte[] coded = Coded(Content, extension);
        for (int i = 0; i < coded.Length; i++)
        {
            byte[] changed = [.. coded];
            changed[i] ^= 0x10;
            Add(Content, changed, extension, $"byte {i} of {coded.Length}");
        }

        using AssetCatalog catalog = _site.Open();

        // The time in a gzip header, say, and bits that fill up the last byte mean nothing.
        (string Name, string Case)[] proven = [.. _cases.Where(one => VerdictOn(catalog, one.Name) == SiblingVerdict.Proven)];
        Assert.InRange(proven.Length, 0, 10);
        Assert.All(proven, one => Assert.Equal(Content, Decoded(File.ReadAllBytes(_site.PathOf($"{one.Name}.{extension}")), extension)));
    }

    [Theory]
    [MemberData(nameof(Codings))]
    public void One_of_other_content_or_with_more_after_its_end_is_not(string extension)
    {
        byte[] coded = Coded(Content, extension);
        Add(Content, Coded([.. Content, 1], extension), extension, "longer");
        Add(Content, Coded(Content[..^1], extension), extension, "shorter");
        Add(Content, Coded(TestText.Of(700, seed: 2), extension), extension, "other");
        Add(Content, Coded([], extension), extension, "of nothing");
        Add([], Coded(Content, extension), extension, "of an empty file");
        Add(TestText.Of(300_000), Coded(TestText.Of(299_999), extension), extension, "shorter by one");
        int others = _cases.Count;
        Add(Content, [.. coded, 0], extension, "a byte more");
        Add(Content, [.. coded, .. TestText.Noise(70_000)], extension, "noise after it");
        Add(Content, [.. Coded(Content[..350], extension), .. Coded(Content[350..], extension)], extension, "two streams");
        Add(Content, TestText.Noise(1000), extension, "noise");
        Add(Content, Encoding.ASCII.GetBytes("<html>"), extension, "a page");

        using AssetCatalog catalog = _site.Open();

        // .NET's gzip of nothing is nothing.
        Assert.All(_cases[..others], one => Assert.Equal(
            (one.Case, extension == "gz" && one.Case == "of nothing" ? SiblingVerdict.Empty : SiblingVerdict.OtherContent),
            (one.Case, VerdictOn(catalog, one.Name))));
        foreach ((string name, string text) in _cases[others..])
        {
            // Frames of Zstandard may follow one another (RFC 8878, section 3).
            bool isRight = VerdictOn(catalog, name) == SiblingVerdict.Proven;
            Assert.Equal((text, extension == "zst" && text == "two streams"), (text, isRight));
        }
    }

    [Fact]
    public void A_gzip_header_may_have_every_part()
    {
        byte[] plain = CodedContent.Of(Content, ContentCoding.Gzip);
        byte[] rest = plain[10..];
        for (int flags = 0; flags < 256; flags++)
        {
            byte[] header =
            [
                0x1f, 0x8b, 8, (byte)flags, 1, 2, 3, 4, 2, 3,
                .. (flags & 4) != 0 ? [3, 0, 7, 8, 9] : (byte[])[],
                .. (flags & 8) != 0 ? [(byte)'a', 0] : (byte[])[],
                .. (flags & 16) != 0 ? [(byte)'b', (byte)'c', 0] : (byte[])[],
                .. (flags & 2) != 0 ? [1, 2] : (byte[])[],
            ];
            Add(Content, [.. header, .. rest], "gz", $"flags {flags}");
        }

        using AssetCatalog catalog = _site.Open();

        for (int flags = 0; flags < 256; flags++)
        {
            Assert.Equal((flags, flags < 32), (flags, VerdictOn(catalog, _cases[flags].Name) == SiblingVerdict.Proven));
        }
    }

    [Fact]
    public void One_that_decodes_to_without_end_is_left_after_the_first_bytes_that_differ()
    {
        byte[] bomb = CodedContent.Of(new byte[300_000_000], ContentCoding.Gzip, CompressionLevel.Optimal);
        Add(new byte[1000], bomb, "gz", "bomb");
        long beganAt = Environment.TickCount64;

        using AssetCatalog catalog = _site.Open();

        Assert.Equal(SiblingVerdict.OtherContent, VerdictOn(catalog, _cases[0].Name));
        Assert.InRange(Environment.TickCount64 - beganAt, 0, 10_000);
    }

    private static byte[] Coded(byte[] content, string extension) => extension switch
    {
        "zst" => CodedContent.Zstd(content),
        "br" => CodedContent.Of(content, ContentCoding.Brotli),
        _ => CodedContent.Of(content, ContentCoding.Gzip),
    };

    /// <summary>By other decoders than the server's.</summary>
    private static byte[] Decoded(byte[] coded, string extension)
    {
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library), ZstdLibrary.Problem);
        using var source = new MemoryStream(coded);
        using Stream decoder = extension switch
        {
            "zst" => new ZstdReadStream(library, source),
            "br" => new BrotliStream(source, CompressionMode.Decompress),
            _ => new GZipStream(source, CompressionMode.Decompress),
        };
        using var content = new MemoryStream();
        decoder.CopyTo(content);
        return content.ToArray();
    }

    private static SiblingVerdict VerdictOn(AssetCatalog catalog, string name) =>
        Assert.Single(catalog.Current.Asset("/" + name).Siblings).Verdict;

    private void Add(byte[] content, byte[] coded, string extension, string text)
    {
        DateTime time = DateTime.UtcNow.AddDays(-1);
        string name = $"{_cases.Count}.js";
        File.SetLastWriteTimeUtc(_site.File(name, content), time);
        File.SetLastWriteTimeUtc(_site.File($"{name}.{extension}", coded), time);
        _cases.Add((name, text));
    }
}
