using System.Text;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Planning;

/// <summary>What of a snapshot's listings is kept for who asks next.</summary>
public sealed class DirectoryDocumentTests : IDisposable
{
    private const long KeptBytesMax = 16 * 1024 * 1024;

    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void A_listing_too_large_to_be_kept_costs_others_no_room()
    {
        _site.File("small/a.txt", "x");
        FillDirectory("large", 10_500);
        using AssetCatalog catalog = _site.Open();

        Assert.True(Of(catalog, "/large/").Bytes.Length > KeptBytesMax);
        Assert.NotSame(Of(catalog, "/large/"), Of(catalog, "/large/"));
        Assert.Same(Of(catalog, "/small/"), Of(catalog, "/small/"));
    }

    [Fact]
    public void Old_listings_make_room_for_new_ones()
    {
        _site.File("small/a.txt", "x");
        FillDirectory("large", 3_500);
        using AssetCatalog catalog = _site.Open();
        PlanDocument small = Of(catalog, "/small/");
        Assert.Same(small, Of(catalog, "/small/"));

        foreach (string order in (string[])["", "order=desc", "sort=size", "sort=size&order=desc"])
        {
            PlanDocument large = Of(catalog, "/large/", order);
            Assert.InRange(large.Bytes.Length, KeptBytesMax / 4, KeptBytesMax);
            Assert.Same(large, Of(catalog, "/large/", order));
        }

        Assert.NotSame(small, Of(catalog, "/small/"));
        Assert.Same(Of(catalog, "/small/"), Of(catalog, "/small/"));
    }

    [Fact]
    public async Task Who_race_for_a_listing_are_given_one()
    {
        FillDirectory("large", 3_500);
        using AssetCatalog catalog = _site.Open();
        using var start = new Barrier(4);
        PlanDocument[] given = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Factory.StartNew(
            Race, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default)));

        Assert.Single(given.Distinct(ReferenceEqualityComparer.Instance));

        PlanDocument Race()
        {
            start.SignalAndWait();
            return Of(catalog, "/large/");
        }
    }

    /// <summary>Names that take much more of a page than of a disk.</summary>
    private void FillDirectory(string directory, int count)
    {
        _site.EmptyDirectory(directory);
        for (int i = 0; i < count; i++)
        {
            File.Create(_site.PathOf($"{directory}/{i}{new string('&', 240)}")).Dispose();
        }
    }

    private static PlanDocument Of(AssetCatalog catalog, string path, string query = "")
    {
        CatalogSnapshot snapshot = catalog.Adopt();
        try
        {
            _ = snapshot.TryFind(Encoding.UTF8.GetBytes(path), out _, out SiteDirectory? directory);
            return DirectoryDocument.Of(snapshot, directory!, Encoding.UTF8.GetBytes(path), Encoding.ASCII.GetBytes(query), asJson: false);
        }
        finally
        {
            snapshot.Release();
        }
    }
}
