using System.Text;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Listings;

public class ListingEntriesTests
{
    [Fact]
    public void A_directory_of_a_site_shows_its_files_and_directories_and_nothing_hidden()
    {
        using var site = new TempSite();
        site.File("docs/a.txt", "12345");
        site.File("docs/.hidden", "");
        site.File("docs/deep/b.txt", "");
        File.SetLastWriteTimeUtc(site.PathOf("docs/a.txt"), DateTime.UnixEpoch.AddSeconds(1_700_000_000));
        using AssetCatalog catalog = AssetCatalog.Open(site.Options);
        CatalogSnapshot snapshot = catalog.Acquire();
        Assert.Equal(PathMatch.DirectoryWithoutIndex, snapshot.TryFind("/docs/"u8, out _, out SiteDirectory? directory));

        ListingEntry[] entries = snapshot.List(directory!);
        snapshot.Release();

        Assert.Equal(["deep", "a.txt"], entries.Select(entry => Encoding.UTF8.GetString(entry.Name.Span)));
        Assert.Equal([true, false], entries.Select(entry => entry.IsDirectory));
        Assert.Equal(5, entries[1].Size);
        Assert.Equal(1_700_000_000_000_000_000, entries[1].ModifiedAtNs);
    }
}
