using System.Formats.Tar;
using System.IO.Compression;
using System.Security.Cryptography;
using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles.Archives;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Archives;

/// <summary>What archives hold, and that they are cut rather than wrong.</summary>
public sealed class ArchiveTests : IDisposable
{
    private readonly TempSite _folder = new();

    public static TheoryData<string> Formats => ["tar.gz", "zip"];

    public void Dispose() => _folder.Dispose();

    [Theory]
    [MemberData(nameof(Formats))]
    public void Everything_that_is_listed_is_in_it_in_order(string format)
    {
        byte[] large = RandomNumberGenerator.GetBytes(300_000);
        _folder.File("b.txt", "b");
        _folder.File("a/empty.txt", "");
        _folder.File("a/read.bin", large[..100_000]);
        _folder.File("a/chunks.bin", large);
        _folder.File("a/text.txt", new string('x', 200_000));
        _folder.File("a/index.html", "index");
        _folder.File(".hidden", "hidden");
        _folder.File("a/.git/config", "hidden");
        _folder.EmptyDirectory("c/d");
        File.WriteAllText(Path.Combine(_folder.Outside, "outside"), "outside");
        _folder.Symlink("a/inside", "../b.txt");
        _folder.Symlink("a/outside", "../../outside");
        using Site site = Open();

        List<(string Name, byte[]? Content)> entries = MadeArchive.Read(MadeArchive.Of(site, $"/?archive={format}")!);

        string[] names =
        [
            "site/", "site/b.txt", "site/a/", "site/a/chunks.bin", "site/a/empty.txt", "site/a/index.html", "site/a/inside",
            "site/a/read.bin", "site/a/text.txt", "site/c/", "site/c/d/",
        ];
        Assert.Equal(names, entries.Select(static entry => entry.Name));
        Assert.Equal(large, entries[3].Content);
        Assert.Equal([], entries[4].Content!);
        Assert.Equal("b"u8.ToArray(), entries[6].Content);
        Assert.Equal(large[..100_000], entries[7].Content);
        Assert.Equal(200_000, entries[8].Content!.Length);
        Assert.Equal(0, site.Archives!.Count);
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public void Names_are_kept_whatever_they_are(string format)
    {
        string longName = $"{new string('l', 200)}/{new string('ü', 100)}/{new string('n', 250)}";
        string[] names = ["grüße.txt", " leading and trailing ", "new\nline", longName, new string('a', 99), new string('a', 100), new string('a', 101)];
        foreach (string name in names)
        {
            _folder.File($"d/{name}", name);
        }

        using Site site = Open();
        List<(string Name, byte[]? Content)> entries = MadeArchive.Read(MadeArchive.Of(site, $"/d/?archive={format}")!);

        Assert.Equal(
            names.Select(static name => ($"d/{name}", name)).Order(),
            entries.Where(static entry => entry.Content is not null)
                .Select(static entry => (entry.Name, Encoding.UTF8.GetString(entry.Content!))).Order());
    }

    [Fact]
    public void A_backslash_in_a_name_is_not_a_separator_in_a_zip()
    {
        _folder.File("""d/a\..\..\up.txt""", "up");
        using Site site = Open();

        Assert.Equal(["d/", "d/a_.._.._up.txt"], MadeArchive.Names(MadeArchive.Of(site, "/d/?archive=zip")));
        Assert.Equal(["d/", """d/a\..\..\up.txt"""], MadeArchive.Names(MadeArchive.Of(site, "/d/?archive=tar.gz")));
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public void Times_are_those_of_the_files(string format)
    {
        var time = new DateTime(2021, 3, 4, 5, 6, 8, DateTimeKind.Utc);
        File.SetLastWriteTimeUtc(_folder.File("d/a.txt", "a"), time);
        using Site site = Open();
        byte[] archive = MadeArchive.Of(site, $"/d/?archive={format}")!;

        DateTime read;
        if (format == "zip")
        {
            using var zip = new ZipArchive(new MemoryStream(archive));
            read = zip.GetEntry("d/a.txt")!.LastWriteTime.DateTime;
        }
        else
        {
            using var reader = new TarReader(new GZipStream(new MemoryStream(archive), CompressionMode.Decompress));
            _ = reader.GetNextEntry();
            read = reader.GetNextEntry()!.ModificationTime.UtcDateTime;
        }

        Assert.Equal(time, read);
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public void What_links_lead_to_is_there_once_and_loops_end(string format)
    {
        _folder.File("a/a.txt", "a");
        _folder.File("other/o.txt", "o");
        _folder.Symlink("a/self", ".");
        _folder.Symlink("a/up", "..");
        _folder.Symlink("a/first", "../other");
        _folder.Symlink("a/second", "../other");
        _folder.Symlink("other/back", "../a");
        _folder.Symlink("other/again", "../other");
        using Site site = Open();

        // What of these is the directory and what leads to it depends on the order of the scan.
        List<string> names = MadeArchive.Names(MadeArchive.Of(site, $"/a/?archive={format}"));

        Assert.Equal(names.Distinct(), names);
        Assert.Single(names, static name => name.EndsWith("/a.txt", StringComparison.Ordinal));
        Assert.Single(names, static name => name.EndsWith("/o.txt", StringComparison.Ordinal));
    }

    [Fact]
    public void A_zip_may_have_more_entries_than_16_bits_count()
    {
        const int Files = 70_000;
        using var folder = TempSite.InMemory();
        for (int i = 0; i < Files; i++)
        {
            folder.File($"{i % 100}/{i}", "");
        }

        using Site site = Site.Open(
            folder.Options with { Listing = true, Archives = ArchiveFormats.Zip, Watch = WatchMode.Off }, NullLoggerFactory.Instance);
        using var zip = new ZipArchive(new MemoryStream(MadeArchive.Of(site, "/?archive=zip")!));

        Assert.Equal(1 + 100 + Files, zip.Entries.Count);
        Assert.NotNull(zip.GetEntry("site/99/69999"));
    }

    [Theory]
    [InlineData("tar.gz", 0)]
    [InlineData("zip", 99_999)]
    [InlineData("zip", 200_000)]
    public void A_file_that_has_changed_since_it_was_listed_is_archived_as_it_is(string format, int length)
    {
        string path = _folder.File("d/a.bin", RandomNumberGenerator.GetBytes(100_000));
        using Site site = Open();
        byte[] content = RandomNumberGenerator.GetBytes(length);
        File.WriteAllBytes(path, content);

        Assert.Equal(content, MadeArchive.Read(MadeArchive.Of(site, $"/d/?archive={format}")!)[1].Content);
    }

    [Theory]
    [MemberData(nameof(Formats))]
    public void A_file_that_is_gone_is_left_out(string format)
    {
        // Opened when it is sent, as no descriptor is held for it.
        string path = _folder.File("d/a.bin", RandomNumberGenerator.GetBytes(100_000));
        _folder.File("d/b.txt", "b");
        using Site site = Open(static options => options with { DescriptorsMax = 0 });
        File.Delete(path);

        Assert.Equal(["d/", "d/b.txt"], MadeArchive.Names(MadeArchive.Of(site, $"/d/?archive={format}")));
    }

    [Theory]
    [InlineData("tar.gz", false)]
    [InlineData("tar.gz", true)]
    [InlineData("zip", false)]
    [InlineData("zip", true)]
    public void A_file_that_shrinks_or_is_written_over_meanwhile_cuts_the_archive(string format, bool shrinks)
    {
        string path = _folder.File("d/a.bin", RandomNumberGenerator.GetBytes(200_000));
        using Site site = Open();
        int reads = 0;

        byte[]? archive = MadeArchive.Of(site, $"/d/?archive={format}", step =>
        {
            if (step == ArchiveStep.ReadFile && ++reads == 2)
            {
                using FileStream file = File.OpenWrite(path);
                file.SetLength(shrinks ? 100_000 : file.Length);
                file.Write("other"u8);
            }
        });

        Assert.Null(archive);
        Assert.InRange(reads, 2, 4);
        Assert.Equal(0, site.Archives!.Count);
    }

    [Fact]
    public void A_file_that_cannot_be_read_cuts_the_archive()
    {
        _folder.File("d/a.bin", RandomNumberGenerator.GetBytes(200_000));
        using Site site = Open(static options => options with { DescriptorsMax = 0 });
        int before = _folder.OpenDescriptorCount();
        CatalogSnapshot snapshot = site.Catalog.Acquire();
        using (ArchiveProducer producer = MadeArchive.Plan(site, snapshot, "/d/?archive=zip").Archive!.TryBegin(snapshot)!)
        {
            Assert.Equal(ArchiveStep.OpenFile, producer.Run());
            Assert.True(producer.TryOpenFile());
            Assert.Equal(ArchiveStep.ReadFile, producer.Run());
            Assert.Equal(1, _folder.OpenDescriptorCount() - before);
            Assert.False(producer.TryTakePiece(-5));
        }

        snapshot.Release();
        Assert.Equal(0, _folder.OpenDescriptorCount() - before);
        Assert.Equal(0, site.Archives!.Count);
    }

    [Fact]
    public void A_file_that_grows_meanwhile_is_archived_as_long_as_it_was()
    {
        byte[] content = RandomNumberGenerator.GetBytes(200_000);
        string path = _folder.File("d/a.log", content);
        using Site site = Open();

        byte[]? archive = MadeArchive.Of(site, "/d/?archive=tar.gz", step =>
        {
            if (step == ArchiveStep.ReadFile)
            {
                File.AppendAllText(path, "more");
            }
        });

        Assert.Equal(content, MadeArchive.Read(archive!)[1].Content);
    }

    private Site Open(Func<SiteOptions, SiteOptions>? change = null)
    {
        SiteOptions options = _folder.Options with
        {
            Listing = true,
            Archives = ArchiveFormats.TarGzip | ArchiveFormats.Zip,
            Watch = WatchMode.Off,
        };
        return Site.Open(change?.Invoke(options) ?? options, NullLoggerFactory.Instance);
    }
}
