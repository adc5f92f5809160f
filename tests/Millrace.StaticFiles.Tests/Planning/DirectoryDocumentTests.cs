using System.Diagnostics.CodeAnalysis;
using System.IO.Compression;
using System.Runtime.CompilerServices;
using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Snapshots;
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
        FillDirectory("large", 11_500);
        using AssetCatalog catalog = _site.Open();

        Assert.True(Of(catalog, "/large/").Bytes.Length > KeptBytesMax);
        GeneratedDocument small = Of(catalog, "/small/");
        GeneratedDocument sent = Of(catalog, "/large/");
        Assert.Same(sent, Of(catalog, "/large/"));
        Assert.Same(small, Of(catalog, "/small/"));
        GC.KeepAlive(sent);
    }

    [Fact]
    public void Old_listings_make_room_for_new_ones()
    {
        _site.File("small/a.txt", "x");
        FillDirectory("large", 3_500);
        using AssetCatalog catalog = _site.Open();
        WeakReference small = WeakOf(catalog, "/small/");
        GC.Collect();
        Assert.True(small.IsAlive);

        foreach (string order in (string[])["", "order=desc", "sort=size", "sort=size&order=desc"])
        {
            GeneratedDocument large = Of(catalog, "/large/", order);
            Assert.InRange(large.Bytes.Length, KeptBytesMax / 4, KeptBytesMax);
            Assert.Same(large, Of(catalog, "/large/", order));
        }

        GC.Collect();
        Assert.False(small.IsAlive);
        Assert.Same(Of(catalog, "/small/"), Of(catalog, "/small/"));
    }

    [Fact]
    public async Task Who_race_for_a_listing_are_given_one()
    {
        FillDirectory("large", 3_500);
        using AssetCatalog catalog = _site.Open();
        using var start = new Barrier(4);
        GeneratedDocument[] given = await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => Task.Factory.StartNew(
            Race, CancellationToken.None, TaskCreationOptions.LongRunning, TaskScheduler.Default)));

        Assert.Single(given.Distinct(ReferenceEqualityComparer.Instance));

        GeneratedDocument Race()
        {
            start.SignalAndWait();
            return Of(catalog, "/large/");
        }
    }

    [Theory]
    [InlineData(260)]
    [InlineData(11_500)]
    public async Task A_long_listing_is_made_once_and_elsewhere(int names)
    {
        FillDirectory("long", names);
        using AssetCatalog catalog = _site.Open();
        CatalogSnapshot snapshot = catalog.Acquire();

        Assert.False(TryGet(snapshot, "/long/", "", null, out _, out ListingPreparation? preparation));
        bool isThere = TryGet(snapshot, "/long/", "", null, out GeneratedDocument? soon, out ListingPreparation? same);
        snapshot.Release();
        Assert.True(isThere || same!.Made == preparation.Made);
        await WaitAsync(preparation);

        Assert.True(TryGet(catalog, "/long/", "", null, out GeneratedDocument? made));
        Assert.Same(made, soon ?? made);
        Assert.Same(made, Of(catalog, "/long/"));
        GC.KeepAlive(preparation);
    }

    [Fact]
    public async Task Who_has_waited_gets_what_was_made_for_him_whatever_has_changed_since()
    {
        FillDirectory("long", 300);
        FillDirectory("other", 300);
        using AssetCatalog catalog = _site.Open();
        CatalogSnapshot snapshot = catalog.Acquire();
        Assert.False(TryGet(snapshot, "/long/", "", null, out _, out ListingPreparation? preparation));
        snapshot.Release();
        _site.File("long/another.txt", "x");
        catalog.Reload();
        await WaitAsync(preparation);

        Assert.True(TryGet(catalog, "/long/", "", preparation, out GeneratedDocument? document));
        Assert.Same(document, preparation.DocumentFor(DirectoryOf(catalog.Current, "/long/"), "/long/"u8));
        Assert.False(TryGet(catalog, "/other/", "", preparation, out _));

        // Only a caller that has waited gets it.
        Assert.NotEqual(document.Bytes, Of(catalog, "/long/").Bytes);
    }

    [Fact]
    public void A_short_listing_is_made_at_once()
    {
        FillDirectory("short", 240);
        using AssetCatalog catalog = _site.Open();

        Assert.True(TryGet(catalog, "/short/", "", null, out _));
    }

    [Fact]
    public async Task A_long_listing_is_coded_elsewhere_too_and_a_coding_is_another_document()
    {
        FillDirectory("long", 300);
        using AssetCatalog catalog = _site.Open();
        CatalogSnapshot snapshot = catalog.Acquire();
        var documents = new List<GeneratedDocument>();
        foreach (ContentCoding coding in (ContentCoding[])[ContentCoding.Identity, ContentCoding.Gzip, ContentCoding.Brotli])
        {
            Assert.False(TryGet(
                snapshot, "/long/", "", null, out GeneratedDocument? document, out ListingPreparation? preparation, coding));
            await WaitAsync(preparation);
            Assert.True(TryGet(snapshot, "/long/", "", preparation, out document, out _, coding));
            Assert.Equal(coding, document.Coding);
            documents.Add(document);
        }

        snapshot.Release();
        Assert.Equal(3, documents.Select(static document => Encoding.ASCII.GetString(document.EntityTag)).Distinct().Count());
        Assert.Equal(documents[0].Bytes, Decoded(new GZipStream(new MemoryStream(documents[1].Bytes), CompressionMode.Decompress)));
        Assert.Equal(documents[0].Bytes, Decoded(new BrotliStream(new MemoryStream(documents[2].Bytes), CompressionMode.Decompress)));
        Assert.All(documents.Skip(1), coded => Assert.True(coded.Bytes.Length < documents[0].Bytes.Length / 10));

        static byte[] Decoded(Stream coded)
        {
            using var all = new MemoryStream();
            coded.CopyTo(all);
            coded.Dispose();
            return all.ToArray();
        }
    }

    [Fact]
    public void What_a_coding_does_not_make_smaller_stays_as_it_is()
    {
        GeneratedDocument plain = GeneratedDocument.WithTag("[]"u8.ToArray(), "application/json"u8.ToArray());

        Assert.Same(plain, plain.CodedAs(ContentCoding.Gzip));
        Assert.Same(plain, plain.CodedAs(ContentCoding.Brotli));
    }

    [Fact]
    public async Task A_snapshot_lives_until_its_listing_is_made()
    {
        FillDirectory("long", 3_500);
        using AssetCatalog catalog = _site.Open();
        CatalogSnapshot snapshot = catalog.Acquire();
        Assert.False(TryGet(snapshot, "/long/", "", null, out _, out ListingPreparation? preparation));
        snapshot.Release();
        _site.File("another.txt", "x");
        catalog.Reload();

        await WaitAsync(preparation);
        await snapshot.Freed.WaitAsync(TimeSpan.FromMinutes(1), TestContext.Current.CancellationToken);
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

    /// <summary>A listing that only the cache holds.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static WeakReference WeakOf(AssetCatalog catalog, string path) => new(Of(catalog, path));

    private static GeneratedDocument Of(AssetCatalog catalog, string path, string query = "")
    {
        CatalogSnapshot snapshot = catalog.Acquire();
        try
        {
            if (!TryGet(snapshot, path, query, null, out GeneratedDocument? document, out ListingPreparation? preparation))
            {
                WaitAsync(preparation).GetAwaiter().GetResult();
                Assert.True(TryGet(snapshot, path, query, preparation, out document, out _));
            }

            return document;
        }
        finally
        {
            snapshot.Release();
        }
    }

    private static Task WaitAsync(ListingPreparation preparation) =>
        preparation.Made.WaitAsync(TimeSpan.FromMinutes(1), TestContext.Current.CancellationToken);

    private static bool TryGet(
        AssetCatalog catalog,
        string path,
        string query,
        ListingPreparation? prepared,
        [NotNullWhen(true)] out GeneratedDocument? document)
    {
        CatalogSnapshot snapshot = catalog.Acquire();
        try
        {
            return TryGet(snapshot, path, query, prepared, out document, out _);
        }
        finally
        {
            snapshot.Release();
        }
    }

    private static bool TryGet(
        CatalogSnapshot snapshot,
        string path,
        string query,
        ListingPreparation? prepared,
        [NotNullWhen(true)] out GeneratedDocument? document,
        [NotNullWhen(false)] out ListingPreparation? preparation,
        ContentCoding coding = ContentCoding.Identity) =>
        DirectoryDocument.TryGet(
            snapshot,
            DirectoryOf(snapshot, path),
            Encoding.UTF8.GetBytes(path),
            ListingForm.Json(Encoding.ASCII.GetBytes(query), coding),
            prepared,
            out document,
            out preparation);

    private static SiteDirectory DirectoryOf(CatalogSnapshot snapshot, string path)
    {
        _ = snapshot.TryFind(Encoding.UTF8.GetBytes(path), out _, out SiteDirectory? directory);
        return directory!;
    }
}
