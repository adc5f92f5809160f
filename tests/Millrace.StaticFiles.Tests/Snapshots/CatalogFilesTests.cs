using System.Text;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>Which path finds which file.</summary>
public sealed class CatalogFilesTests : IDisposable
{
    private readonly TempSite _site = new();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void A_file_is_found_with_its_size_time_type_and_bytes()
    {
        string full = _site.File("a/b/page.html", "<p>hello</p>");
        var modifiedAt = new DateTime(2024, 5, 6, 7, 8, 9, 123, DateTimeKind.Utc);
        File.SetLastWriteTimeUtc(full, modifiedAt);
        using AssetCatalog catalog = _site.Open();

        Asset asset = catalog.Current.Asset("/a/b/page.html");

        Assert.Equal(12, asset.Size);
        Assert.Equal((modifiedAt - DateTime.UnixEpoch).Ticks * 100, asset.ModifiedAtNs);
        Assert.Equal("text/html; charset=utf-8", asset.ContentType.Value);
        Assert.Equal("<p>hello</p>", catalog.Current.Body("/a/b/page.html"));
        Assert.Equal("/a/b/page.html"u8, asset.Path);
    }

    [Fact]
    public void A_time_before_1970_is_negative()
    {
        string full = _site.File("old.txt", "x");
        File.SetLastWriteTimeUtc(full, new DateTime(1969, 12, 31, 23, 59, 58, 500, DateTimeKind.Utc));
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(-1_500_000_000, catalog.Current.Asset("/old.txt").ModifiedAtNs);
    }

    [Theory]
    [InlineData("")]
    [InlineData("page.html")]
    [InlineData("*")]
    [InlineData("//")]
    [InlineData("//page.html")]
    [InlineData("/PAGE.html")]
    [InlineData("/page.html/")]
    [InlineData("/page.html.")]
    [InlineData("/page.html\0")]
    [InlineData("/page.html\0.txt")]
    [InlineData("/page")]
    [InlineData("/./page.html")]
    [InlineData("/dir/../page.html")]
    [InlineData("/dir//")]
    [InlineData("/.")]
    [InlineData("/..")]
    public void What_is_not_exactly_a_path_of_the_site_is_nothing(string path)
    {
        _site.File("page.html", "x");
        _site.File("dir/index.html", "y");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(PathMatch.None, catalog.Current.Match(path));
    }

    [Fact]
    public void A_path_longer_than_any_of_the_site_is_nothing()
    {
        _site.File("page.html", "x");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(PathMatch.None, catalog.Current.Match("/" + new string('a', 100_000)));
    }

    [Fact]
    public void A_directory_with_its_slash_is_its_first_index()
    {
        _site.File("index.htm", "root");
        _site.File("both/index.html", "first");
        _site.File("both/index.htm", "second");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("root", catalog.Current.Body("/"));
        Assert.Equal("first", catalog.Current.Body("/both/"));
        Assert.Same(catalog.Current.Asset("/both/index.html"), catalog.Current.Asset("/both/"));
    }

    [Fact]
    public void Index_names_are_the_configured_ones()
    {
        _site.File("index.html", "no");
        _site.File("start.txt", "yes");
        using var reported = AssetCatalog.Open(_site.Options with { IndexNames = ["start.txt"] });
        using var none = AssetCatalog.Open(_site.Options with { IndexNames = [] });

        Assert.Equal("yes", reported.Current.Body("/"));
        Assert.Equal(PathMatch.DirectoryWithoutIndex, none.Current.Match("/"));
    }

    [Fact]
    public void A_directory_named_like_an_index_is_none()
    {
        _site.File("dir/index.html/index.html", "deep");
        _site.File("dir/index.htm", "file");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("file", catalog.Current.Body("/dir/"));
        Assert.Equal("deep", catalog.Current.Body("/dir/index.html/"));
    }

    [Fact]
    public void A_directory_without_its_slash_is_distinguished()
    {
        _site.File("dir/index.html", "x");
        _site.EmptyDirectory("empty");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(PathMatch.DirectoryWithoutSlash, catalog.Current.Match("/dir"));
        Assert.Equal(PathMatch.DirectoryWithoutSlash, catalog.Current.Match("/empty"));
        Assert.Equal(PathMatch.DirectoryWithoutIndex, catalog.Current.Match("/empty/"));
        Assert.Equal(3, catalog.Current.DirectoryCount);
        Assert.Equal(1, catalog.Current.AssetCount);
    }

    [Theory]
    [InlineData("with space.txt")]
    [InlineData("käse/brötchen 🥐.txt")]
    [InlineData("100%25.txt")]
    [InlineData("a?b#c;d&e=f.txt")]
    [InlineData("back\\slash.txt")]
    [InlineData("line\nfeed.txt")]
    [InlineData("...txt", DotfilePolicy.Served)]
    public void Names_are_bytes(string path, DotfilePolicy dotfiles = DotfilePolicy.HiddenExceptWellKnown)
    {
        _site.File(path, "content of " + path);
        using var catalog = AssetCatalog.Open(_site.Options with { Dotfiles = dotfiles });

        Assert.Equal("content of " + path, catalog.Current.Body("/" + path));
    }

    [Fact]
    public void A_name_that_is_no_utf8_is_served_by_its_bytes()
    {
        byte[] name = [0xff, 0xc0, 0xaf, (byte)'.', (byte)'c', (byte)'s', (byte)'s'];
        TestCalls.CreateFile(_site.Root, name);
        using AssetCatalog catalog = _site.Open();
        TestCalls.RemoveFile(_site.Root, name);

        Assert.Equal(PathMatch.Asset, catalog.Current.TryFind([(byte)'/', .. name], out Asset? asset, out _));
        Assert.Equal("text/css; charset=utf-8", asset!.ContentType.Value);
        Assert.Equal(PathMatch.None, catalog.Current.Match("/\ufffd\ufffd\ufffd.css"));
    }

    [Fact]
    public void Names_of_255_bytes_are_served()
    {
        string name = new string('n', 251) + ".txt";
        _site.File(name, "long");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("long", catalog.Current.Body("/" + name));
        Assert.Equal(PathMatch.None, catalog.Current.Match("/n" + name));
    }

    [Fact]
    public void Two_hundred_directories_deep_is_served_with_few_descriptors()
    {
        string directory = string.Join('/', Enumerable.Range(0, 200).Select(i => $"d{i}"));
        _site.File(directory + "/deep.txt", "deep");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("deep", catalog.Current.Body($"/{directory}/deep.txt"));
        Assert.Equal(PathMatch.DirectoryWithoutSlash, catalog.Current.Match("/" + directory));
        Assert.Equal(201, catalog.Current.DirectoryCount);
        Assert.Equal(1, _site.OpenDescriptorCount());
    }

    [Fact]
    public void The_longest_path_the_kernel_takes_is_served_and_a_longer_one_is_noted()
    {
        // 16 names of 255 and 15 slashes are 4095 bytes, PATH_MAX with its zero. The lower half is moved to its place
        // below the upper one: no path from the root of the machine reaches that far.
        string upper = string.Join('/', Enumerable.Repeat(new string('u', 255), 8));
        string lower = string.Join('/', Enumerable.Repeat(new string('l', 255), 7));
        string longest = new('f', 255);
        _site.EmptyDirectory(upper);
        _site.File($"{lower}/{longest}", "deep");
        _site.File($"{lower}/x/{new string('f', 254)}", "too deep");
        string lowerTop = new('l', 255);
        Directory.Move(_site.PathOf(lowerTop), _site.PathOf($"{upper}/{lowerTop}"));
        try
        {
            using AssetCatalog catalog = _site.Open();

            Assert.Equal("deep", catalog.Current.Body($"/{upper}/{lower}/{longest}"));
            Assert.Equal(1, catalog.Current.AssetCount);
            Assert.Equal(SkipReason.PathTooLong, catalog.Current.ReasonFor($"/{upper}/{lower}/x"));
        }
        finally
        {
            Directory.Move(_site.PathOf($"{upper}/{lowerTop}"), _site.PathOf(lowerTop));
        }
    }

    [Fact]
    public void An_empty_file_is_an_asset_of_no_bytes()
    {
        _site.File("empty.txt", "");
        using AssetCatalog catalog = _site.Open();

        Asset asset = catalog.Current.Asset("/empty.txt");
        Assert.Equal(0, asset.Size);
        Assert.Equal(BodyStrategy.InMemory, asset.Strategy);
        Assert.True(asset.InMemoryBody.IsEmpty);
        Assert.Equal(0, catalog.Current.Totals.InMemoryBytes);
    }

    [Fact]
    public void An_empty_root_is_a_site_without_files()
    {
        using AssetCatalog catalog = _site.Open();

        Assert.Equal(PathMatch.DirectoryWithoutIndex, catalog.Current.Match("/"));
        Assert.Equal(0, catalog.Current.AssetCount);
    }

    [Fact]
    public void Dotfiles_are_hidden_but_for_well_known_in_the_root()
    {
        _site.File(".env", "secret");
        _site.File(".git/config", "secret");
        _site.File("dir/.htaccess", "secret");
        _site.File("dir/.well-known/x", "secret");
        _site.File(".well-known/security.txt", "public");
        _site.File(".well-known/.secret", "secret");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("public", catalog.Current.Body("/.well-known/security.txt"));
        foreach (string path in new[]
        {
            "/.env", "/.git", "/.git/", "/.git/config", "/dir/.htaccess", "/dir/.well-known/x", "/.well-known/.secret",
        })
        {
            Assert.Equal(PathMatch.None, catalog.Current.Match(path));
        }

        Assert.Equal(0, catalog.Current.SkippedCount);
    }

    [Fact]
    public void Dotfiles_are_served_if_configured()
    {
        _site.File(".git/config", "public");
        using var catalog = AssetCatalog.Open(_site.Options with { Dotfiles = DotfilePolicy.Served });

        Assert.Equal("public", catalog.Current.Body("/.git/config"));
    }

    [Fact]
    public void A_fronts_encoding_is_kept_with_its_asset()
    {
        _site.File("a.txt", "a");
        using AssetCatalog catalog = _site.Open();
        Asset asset = catalog.Current.Asset("/a.txt");
        Assert.Null(asset.Http1Fields);

        byte[] fields = Encoding.ASCII.GetBytes("Content-Length: 1\r\n");
        asset.Http1Fields = fields;

        Assert.Same(fields, catalog.Current.Asset("/a.txt").Http1Fields);
    }
}
