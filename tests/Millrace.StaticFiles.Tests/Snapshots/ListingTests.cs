using System.Text;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>What a directory shows of itself.</summary>
public sealed class ListingTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void Directories_then_files_each_by_name_with_size_and_time()
    {
        var fileTime = new DateTime(2024, 1, 2, 3, 4, 5, DateTimeKind.Utc);
        var directoryTime = new DateTime(2023, 1, 2, 3, 4, 5, DateTimeKind.Utc);
        File.SetLastWriteTimeUtc(_site.File("d/b.txt", "four"), fileTime);
        _site.File("d/a.txt", "");
        _site.File("d/sub/below.txt", "x");
        _site.EmptyDirectory("d/empty");
        _site.File("d/.hidden", "x");
        _site.Symlink("d/dangling", "nowhere");
        Directory.SetLastWriteTimeUtc(_site.PathOf("d/sub"), directoryTime);
        using AssetCatalog catalog = _site.Open();
        _ = catalog.Current.TryFind("/d/"u8, out _, out SiteDirectory? directory);

        Assert.Equal(["empty/", "sub/", "a.txt", "b.txt"], catalog.Current.Names("/d/"));
        var sizes = new List<(string, long, long)>();
        foreach (ListingEntry entry in catalog.Current.List(directory!))
        {
            if (entry.ModifiedAtNs < NsOf(fileTime.AddDays(1)))
            {
                sizes.Add((Encoding.ASCII.GetString(entry.Name.Span), entry.Size, entry.ModifiedAtNs));
            }
        }

        Assert.Equal([("sub", 0, NsOf(directoryTime)), ("b.txt", 4, NsOf(fileTime))], sizes);
    }

    [Fact]
    public void The_directory_of_a_path_is_the_one_it_names_or_lies_in()
    {
        _site.File("d/index.html", "x");
        _site.EmptyDirectory("d/sub");
        using AssetCatalog catalog = _site.Open();

        Assert.Equal("/d", DirectoryOf("/d/"));
        Assert.Equal("/d", DirectoryOf("/d"));
        Assert.Equal("/d", DirectoryOf("/d/index.html"));
        Assert.Equal("/d/sub", DirectoryOf("/d/sub/"));
        Assert.Equal("", DirectoryOf("/"));
        Assert.Null(DirectoryOf("/d/nothing"));

        string? DirectoryOf(string path)
        {
            _ = catalog.Current.TryFind(Encoding.ASCII.GetBytes(path), out _, out SiteDirectory? directory);
            return directory is null ? null : Encoding.ASCII.GetString(directory.Path);
        }
    }

    private static long NsOf(DateTime time) => (time - DateTime.UnixEpoch).Ticks * 100;
}
