using System.Text;
using Millrace.Http;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Dictionaries;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Access;
using Millrace.StaticFiles.Tests.Compression;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Dictionaries;

public sealed class DictionaryPassTests : IDisposable
{
    private static readonly byte[] First = TestText.Of(20_000);
    private static readonly byte[] Second = [.. First.AsSpan(0, 9_000), .. "changed"u8, .. First.AsSpan(9_000)];
    private static readonly byte[] Third = [.. "changed again"u8, .. Second];

    private readonly TempSite _site = new();
    private readonly ManualTime _clock = new();
    private readonly List<Exception> _failures = [];
    private readonly ZstdLibrary _library;

    public DictionaryPassTests()
    {
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        _library = library;
    }

    private string Folder => Path.Combine(_site.Outside, "kept");

    private SiteOptions Options =>
        _site.Options with { Dictionaries = true, DictionaryDirectory = Folder, DictionaryProcessorPercent = 100 };

    public void Dispose() => _site.Dispose();

    [Fact]
    public void A_redeployed_file_is_coded_with_each_earlier_version_also_after_a_restart()
    {
        using (AssetCatalog catalog = AssetCatalog.Open(Options))
        {
            DictionaryPass pass = Open(catalog, Options);
            Deploy(catalog, "app-3f2a1b9c.js", First);
            Run(catalog, pass);
            Assert.Equal(0, pass.Made);
            Assert.Equal("match=\"/assets/app-*.js\"", Encoding.ASCII.GetString(AssetAt(catalog, "app-3f2a1b9c.js").Dictionary!.UseAs));
            Deploy(catalog, "app-4b7c1d2e.js", Second);
            Run(catalog, pass);
            AssertCoded(AssetAt(catalog, "app-4b7c1d2e.js"), Second, First);
            Assert.Equal(1, pass.Made);
            Run(catalog, pass);
            Assert.Equal(1, pass.Made);
        }

        using AssetCatalog next = AssetCatalog.Open(Options);
        DictionaryPass restarted = Open(next, Options);
        Deploy(next, "app-5c8d2e3f.js", Third);
        Run(next, restarted);
        AssertCoded(AssetAt(next, "app-5c8d2e3f.js"), Third, First);
        AssertCoded(AssetAt(next, "app-5c8d2e3f.js"), Third, Second);
        Assert.Equal(2, restarted.Made);
        Assert.Empty(_failures);
    }

    [Fact]
    public async Task The_variants_are_freed_with_their_file()
    {
        using AssetCatalog catalog = AssetCatalog.Open(Options);
        DictionaryPass pass = Open(catalog, Options);
        Deploy(catalog, "app-3f2a1b9c.js", First);
        Run(catalog, pass);
        Deploy(catalog, "app-4b7c1d2e.js", Second);
        Run(catalog, pass);
        Assert.True(catalog.DictionaryBytesHeld > 0);

        Deploy(catalog, "other.js", Third);
        await TempSite.UntilAsync(() => catalog.DictionaryBytesHeld == 0);
    }

    [Fact]
    public void Without_memory_nothing_is_made_and_more_is_made_when_there_is_some()
    {
        SiteOptions options = Options with { DictionaryBytesTotalMax = 64 };
        using AssetCatalog catalog = AssetCatalog.Open(options);
        DictionaryPass pass = Open(catalog, options);
        Deploy(catalog, "app-3f2a1b9c.js", First);
        Run(catalog, pass);
        Deploy(catalog, "app-4b7c1d2e.js", Second);
        Run(catalog, pass);

        Assert.Equal((0, 0), (pass.Made, catalog.DictionaryBytesHeld));
        Assert.True(AssetAt(catalog, "app-4b7c1d2e.js").Dictionary!.Variants.IsEmpty);
        Assert.Null(pass.NextDue);
    }

    [Fact]
    public void A_variant_that_had_no_room_keeps_no_other_file_from_its_own()
    {
        // The one that is too large comes first: files are coded by size.
        SiteOptions options = Options with { DictionaryBytesTotalMax = 5_000 };
        byte[] longer = [.. First, .. TestText.Of(4_000, 8)];
        using AssetCatalog catalog = AssetCatalog.Open(options);
        DictionaryPass pass = Open(catalog, options);
        _site.File("assets/app-3f2a1b9c.js", First);
        _site.File("assets/big-3f2a1b9c.js", TestText.Noise(10_000, 1));
        catalog.Reload();
        Run(catalog, pass);
        File.Delete(_site.PathOf("assets/app-3f2a1b9c.js"));
        _site.File("assets/app-4b7c1d2e.js", longer);
        Deploy(catalog, "big-4b7c1d2e.js", [.. TestText.Noise(10_000, 1).AsSpan(0, 3_000), .. TestText.Noise(7_000, 2)], "big-*");
        Run(catalog, pass);

        Assert.True(AssetAt(catalog, "big-4b7c1d2e.js").Dictionary!.Variants.IsEmpty);
        AssertCoded(AssetAt(catalog, "app-4b7c1d2e.js"), longer, First);
        Assert.True(pass.IsShortOfMemory);
        Assert.Null(pass.NextDue);

        // Nor is anything waited for when the file is gone.
        Deploy(catalog, "other.js", First, "big-*");
        Run(catalog, pass);
        Assert.False(pass.IsShortOfMemory);
        Assert.Empty(_failures);
    }

    [Fact]
    public async Task All_files_are_coded_in_the_first_coding_and_then_in_the_second_one()
    {
        var second = new StandInCoder(_library);
        using AssetCatalog catalog = AssetCatalog.Open(Options);
        DictionaryPass pass = Open(catalog, Options, more: second);
        _site.File("assets/lib-3f2a1b9c.js", [.. First, .. Second]);
        Deploy(catalog, "app-3f2a1b9c.js", First, "app-*");
        Run(catalog, pass);
        File.Delete(_site.PathOf("assets/lib-3f2a1b9c.js"));
        _site.File("assets/lib-4b7c1d2e.js", [.. Second, .. First]);
        Deploy(catalog, "app-4b7c1d2e.js", Second, "app-*");
        second.Coded += bytes =>
        {
            Assert.Equal(2, pass.Made - second.Count);
            Assert.True(bytes == Second.Length || second.Count == 1);
        };
        Run(catalog, pass);
        Run(catalog, pass);

        Assert.Equal((4, 2), (pass.Made, second.Count));
        DictionaryVariants variants = AssetAt(catalog, "app-4b7c1d2e.js").Dictionary!.VariantsFor(DictionaryHash.Of(First));
        Assert.Equal(
            (ContentCoding.DictionaryBrotli, ContentCoding.DictionaryZstd), (variants.Brotli!.Coding, variants.Zstd!.Coding));
        Assert.Empty(_failures);
        long held = catalog.DictionaryBytesHeld;
        Assert.True(held >= variants.Brotli.Size + variants.Zstd.Size);

        // Both are freed with their file.
        Deploy(catalog, "other.js", Third, "*-*");
        await TempSite.UntilAsync(() => catalog.DictionaryBytesHeld == 0);
    }

    [Fact]
    public void Without_memory_for_both_codings_there_is_the_first_one()
    {
        SiteOptions options = Options with { DictionaryBytesTotalMax = 150 };
        using AssetCatalog catalog = AssetCatalog.Open(options);
        DictionaryPass pass = Open(catalog, options, more: new StandInCoder(_library));
        Deploy(catalog, "app-3f2a1b9c.js", First);
        Run(catalog, pass);
        Deploy(catalog, "app-4b7c1d2e.js", Second);
        Run(catalog, pass);

        AssertCoded(AssetAt(catalog, "app-4b7c1d2e.js"), Second, First);
        Assert.Null(AssetAt(catalog, "app-4b7c1d2e.js").Dictionary!.VariantsFor(DictionaryHash.Of(First)).Brotli);
        Assert.Equal((1, true, null), (pass.Made, pass.IsShortOfMemory, pass.NextDue));
    }

    [Fact]
    public void A_file_that_not_everybody_may_see_is_neither_kept_nor_coded()
    {
        using AssetCatalog catalog = AssetCatalog.Open(Options);
        DictionaryPass pass = Open(catalog, Options, static asset => asset.Path.StartsWith("/assets/secret"u8));
        Deploy(catalog, "secret-3f2a1b9c.js", First);
        Run(catalog, pass);
        Deploy(catalog, "secret-4b7c1d2e.js", Second);
        Run(catalog, pass);

        Assert.Null(AssetAt(catalog, "secret-4b7c1d2e.js").Dictionary);
        Assert.False(Directory.Exists(Folder));
    }

    [Fact]
    public void What_gains_nothing_is_tried_once_and_not_published()
    {
        using AssetCatalog catalog = AssetCatalog.Open(Options);
        DictionaryPass pass = Open(catalog, Options);
        Deploy(catalog, "app-3f2a1b9c.js", TestText.Noise(20_000, 1));
        Run(catalog, pass);
        Deploy(catalog, "app-4b7c1d2e.js", TestText.Noise(20_000, 2));
        Run(catalog, pass);

        AssetDictionary dictionary = AssetAt(catalog, "app-4b7c1d2e.js").Dictionary!;
        Assert.True(dictionary.Variants.IsEmpty);
        Assert.Single(dictionary.Tried);
    }

    [Fact]
    public void Files_over_the_limit_and_those_without_a_hash_are_left_alone()
    {
        SiteOptions options = Options with { DictionaryFileBytesMax = 10_000 };
        using AssetCatalog catalog = AssetCatalog.Open(options);
        DictionaryPass pass = Open(catalog, options);
        _site.File("assets/plain.js", First[..5_000]);
        Deploy(catalog, "app-3f2a1b9c.js", First);
        Run(catalog, pass);

        Assert.Null(AssetAt(catalog, "app-3f2a1b9c.js").Dictionary);
        Assert.Null(AssetAt(catalog, "plain.js").Dictionary);
        Assert.False(AssetAt(catalog, "plain.js").MayUseDictionary);
        Assert.False(Directory.Exists(Folder));
    }

    [Fact]
    public void A_family_with_very_many_files_is_left_alone()
    {
        using AssetCatalog catalog = AssetCatalog.Open(Options);
        DictionaryPass pass = Open(catalog, Options);
        for (int i = 0; i < 17; i++)
        {
            _site.File($"assets/chunk-3f2a1b{i + 10}.js", TestText.Of(1_000, i));
        }

        _site.File("assets/app-3f2a1b9c.js", First);
        catalog.Reload();
        Run(catalog, pass);

        Assert.Null(AssetAt(catalog, "chunk-3f2a1b10.js").Dictionary);
        Assert.NotNull(AssetAt(catalog, "app-3f2a1b9c.js").Dictionary);
        Assert.Single(Directory.GetFiles(Folder));
    }

    [Fact]
    public void The_work_is_done_in_slices_with_pauses_that_keep_the_share()
    {
        SiteOptions options = Options with { DictionaryProcessorPercent = 25 };
        using AssetCatalog catalog = AssetCatalog.Open(options);
        DictionaryPass pass = Open(catalog, options, asset =>
        {
            // The filter is asked once for each file: each takes 100 ms.
            _clock.Advance(TimeSpan.FromMilliseconds(100));
            return false;
        });
        for (int i = 0; i < 4; i++)
        {
            _site.File($"assets/chunk{i}-3f2a1b{i}c.js", TestText.Of(10_000, i));
        }

        catalog.Reload();
        pass.Run(CancellationToken.None);

        // 400 ms of work are followed by 1.2 s of pause. One file was looked at, whatever the slice was spent for.
        Assert.Equal(TimeSpan.FromMilliseconds(1_200), pass.NextDue);
        Assert.Single(Directory.GetFiles(Folder));
    }

    [Fact]
    public void Each_slice_makes_progress_and_the_files_are_found_once_however_many_there_are()
    {
        const int Files = 300;
        SiteOptions options = Options with { DictionaryProcessorPercent = 25 };
        for (int i = 0; i < Files; i++)
        {
            _site.File($"assets/part{i}-3f2a1b9c.js", TestText.Of(2_000, i));
        }

        using AssetCatalog catalog = AssetCatalog.Open(options);
        int steps = 0;
        DictionaryPass pass = Open(catalog, options, asset =>
        {
            // Finding the files takes more than a slice.
            steps++;
            _clock.Advance(TimeSpan.FromMilliseconds(1));
            return false;
        });
        int runs = 0;
        for (int stored = 0; stored < Files; runs++)
        {
            pass.Run(CancellationToken.None);
            int now = Directory.GetFiles(Folder).Length;
            Assert.True(now > stored, $"{now} files after {runs} slices");
            stored = now;
            _clock.Advance(pass.NextDue ?? TimeSpan.Zero);
        }

        Assert.Equal(Files, steps);
        Assert.Equal(2, runs);

        // All are changed, and each slice begins with another site: files are coded nevertheless.
        for (int i = 0; i < Files; i++)
        {
            File.Delete(_site.PathOf($"assets/part{i}-3f2a1b9c.js"));
            _site.File($"assets/part{i}-4b7c1d2e.js", [.. TestText.Of(2_000, i), .. TestText.Of(20, i + Files)]);
        }

        _clock.Advance(TimeSpan.FromMinutes(1));
        for (int i = 1; i <= 2 * Files && pass.Made < 3; i++)
        {
            _site.File("other.txt", i.ToString(System.Globalization.CultureInfo.InvariantCulture));
            catalog.Reload();
            Run(catalog, pass);
            _clock.Advance(pass.NextDue ?? TimeSpan.Zero);
        }

        Assert.Equal(3, pass.Made);
        Assert.Empty(_failures);
    }

    [Fact]
    public void A_site_that_changes_while_its_files_are_found_is_coded_nevertheless()
    {
        using AssetCatalog catalog = AssetCatalog.Open(Options);
        int changes = 0;
        DictionaryPass pass = Open(catalog, Options, asset =>
        {
            if (changes > 0 && asset.Path.StartsWith("/assets/b"u8))
            {
                // Also of a file that is coded before the others.
                _site.File("assets/a-3f2a1b9c.js", TestText.Of(1_000, ++changes));
                catalog.Reload();
            }

            return false;
        });
        Deploy(catalog, "b-3f2a1b9c.js", First);
        Run(catalog, pass);
        Deploy(catalog, "b-4b7c1d2e.js", Second);
        changes = 1;
        for (int i = 0; i < 5; i++)
        {
            Run(catalog, pass);
            _clock.Advance(pass.NextDue ?? TimeSpan.Zero);
        }

        Assert.True(changes > 5);
        AssertCoded(AssetAt(catalog, "b-4b7c1d2e.js"), Second, First);
        Assert.Empty(_failures);
    }

    [Fact]
    public void Pages_teach_nothing_by_rules_that_have_changed_meanwhile()
    {
        SiteOptions options = Options with { PageDictionary = true };
        WritePages("first", 40);
        using AssetCatalog catalog = AssetCatalog.Open(options);
        var pages = new PageDictionaries(catalog);
        DictionaryPass pass = Open(catalog, options, _ =>
        {
            if (!File.Exists(_site.PathOf("_redirects")))
            {
                _site.File("_redirects", "/docs/* /404.html 404!");
                catalog.Reload();
            }

            return false;
        }, pages);
        Run(catalog, pass);
        Assert.Null(pages.Current);
        Run(catalog, pass);
        Assert.Null(pages.Current);
        Assert.Empty(_failures);
    }

    [Fact]
    public void The_share_is_kept_however_often_the_site_changes()
    {
        SiteOptions options = Options with { DictionaryProcessorPercent = 25 };
        using AssetCatalog catalog = AssetCatalog.Open(options);
        var worked = TimeSpan.Zero;
        DictionaryPass pass = Open(catalog, options, asset =>
        {
            worked += TimeSpan.FromMilliseconds(10);
            _clock.Advance(TimeSpan.FromMilliseconds(10));
            return false;
        });
        long beganAt = _clock.GetTimestamp();
        for (int i = 0; i < 1_000; i++)
        {
            _site.File("assets/app-3f2a1b9c.js", TestText.Of(2_000, i));
            catalog.Reload();
            pass.Run(CancellationToken.None);
            _clock.Advance(TimeSpan.FromMilliseconds(5));
        }

        TimeSpan elapsed = _clock.GetElapsedTime(beganAt);
        Assert.InRange(worked, elapsed / 5, (elapsed / 4) + TimeSpan.FromMilliseconds(300));
    }

    [Fact]
    public void A_dictionary_that_cannot_be_read_now_is_used_later()
    {
        using AssetCatalog catalog = AssetCatalog.Open(Options);
        bool fails = false;
        var folder = new DictionaryFolder(Folder)
        {
            Open = (path, flags) => fails ? -Millrace.Interop.Errno.EMFILE : FileContent.Open(path, flags),
        };
        var history = new DictionaryHistory(folder, 1_000_000, 3, _clock, _failures.Add);
        var pass = new DictionaryPass(catalog, Options, history, null, static _ => false, _failures.Add, _clock)
        {
            Coders = [new ZstdDictionaryCoder(_library)],
        };
        Deploy(catalog, "app-3f2a1b9c.js", First);
        Run(catalog, pass);
        Deploy(catalog, "app-4b7c1d2e.js", Second);
        fails = true;
        Run(catalog, pass);
        Assert.Equal((0, 1), (pass.Made, _failures.Count));
        Assert.Equal(TimeSpan.FromMinutes(1), pass.NextDue);
        fails = false;
        Run(catalog, pass);
        Assert.Equal(0, pass.Made);
        _clock.Advance(TimeSpan.FromMinutes(1));
        Run(catalog, pass);
        Assert.Equal(1, pass.Made);
        Assert.Null(pass.NextDue);
    }

    [Fact]
    public async Task What_there_was_no_memory_for_is_coded_when_a_slow_client_lets_go_of_what_was_before()
    {
        SiteOptions options = Options with { DictionaryBytesTotalMax = 1_000 };
        using AssetCatalog catalog = AssetCatalog.Open(options);
        Deploy(catalog, "app-3f2a1b9c.js", First);
        using BackgroundCompressor compressor = BackgroundCompressor.Start(
            catalog, options, _failures.Add, dictionaries: _ => Open(catalog, options));
        await TempSite.UntilAsync(() => AssetAt(catalog, "app-3f2a1b9c.js").Dictionary is not null);
        Deploy(catalog, "app-4b7c1d2e.js", [.. First, .. TestText.Noise(700)]);
        await TempSite.UntilAsync(() => compressor.DictionaryVariantsMade == 1);
        CatalogSnapshot slow = catalog.Acquire();
        Deploy(catalog, "app-5c8d2e3f.js", [.. First, .. TestText.Noise(701, 2)]);
        await TempSite.UntilAsync(() => AssetAt(catalog, "app-5c8d2e3f.js").Dictionary is not null && !compressor.IsWorking);
        Assert.True(AssetAt(catalog, "app-5c8d2e3f.js").Dictionary!.Variants.IsEmpty);
        slow.Release();
        await TempSite.UntilAsync(() => compressor.DictionaryVariantsMade > 1);
        Assert.False(AssetAt(catalog, "app-5c8d2e3f.js").Dictionary!.Variants.IsEmpty);
        Assert.Empty(_failures);
    }

    [Fact]
    public void A_file_that_changes_while_it_is_coded_gets_nothing_of_its_earlier_bytes()
    {
        using AssetCatalog catalog = AssetCatalog.Open(Options);
        DictionaryPass pass = Open(catalog, Options);
        Deploy(catalog, "app-3f2a1b9c.js", First);
        Run(catalog, pass);
        Deploy(catalog, "app-4b7c1d2e.js", Second);
        Asset before = AssetAt(catalog, "app-4b7c1d2e.js");

        // As if it happened after the pass had read it.
        Assert.True(catalog.SetDictionary(before, new AssetDictionary([], isPage: false)));
        Deploy(catalog, "app-4b7c1d2e.js", Third);
        Assert.Equal(PublishOutcome.Obsolete, catalog.Publish(before, DictionaryHash.Of(First), ContentCoding.DictionaryZstd, new byte[10]));
        Assert.Equal(0, catalog.DictionaryBytesHeld);
        Assert.False(catalog.SetDictionary(before, new AssetDictionary([], isPage: false)));

        Run(catalog, pass);
        AssertCoded(AssetAt(catalog, "app-4b7c1d2e.js"), Third, First);
    }

    [Fact]
    public void The_folder_may_be_deleted_and_filled_with_garbage_at_any_time()
    {
        using AssetCatalog catalog = AssetCatalog.Open(Options);
        DictionaryPass pass = Open(catalog, Options);
        Deploy(catalog, "app-3f2a1b9c.js", First);
        Run(catalog, pass);
        Directory.Delete(Folder, recursive: true);
        Deploy(catalog, "app-4b7c1d2e.js", Second);
        Run(catalog, pass);
        Assert.Equal(0, pass.Made);
        Assert.Single(Directory.GetFiles(Folder));

        foreach (string file in Directory.GetFiles(Folder))
        {
            File.WriteAllText(file, "garbage");
        }

        Deploy(catalog, "app-5c8d2e3f.js", Third);
        Run(catalog, pass);
        Assert.Equal(0, pass.Made);
        Assert.Single(Directory.GetFiles(Folder));

        // The present file, whose copy is lost, is kept again after the next look.
        Directory.Delete(Folder, recursive: true);
        _clock.Advance(TimeSpan.FromMinutes(1));
        Run(catalog, pass);
        Assert.Single(Directory.GetFiles(Folder));
        Deploy(catalog, "app-6d9e3f4a.js", First);
        Run(catalog, pass);
        AssertCoded(AssetAt(catalog, "app-6d9e3f4a.js"), First, Third);
        Assert.Empty(_failures);
    }

    [Fact]
    public void Pages_are_coded_with_a_dictionary_of_what_they_have_in_common_and_with_earlier_ones()
    {
        SiteOptions options = Options with { Dictionaries = false, PageDictionary = true };
        WritePages("first", 40);
        using AssetCatalog catalog = AssetCatalog.Open(options);
        var pages = new PageDictionaries(catalog);
        DictionaryPass pass = Open(catalog, options, null, pages);
        Run(catalog, pass);

        PageDictionary first = pages.Current!;
        Assert.NotNull(first);
        Asset page = catalog.Current.Asset("/docs/7.html");
        Asset variant = page.Dictionary!.VariantFor(first.Hash, ContentCoding.DictionaryZstd)!;
        Assert.True(variant.Size < page.VariantFor(ContentCoding.Brotli)!.Size * 8 / 10);
        Assert.True(page.Dictionary.UseAs.IsEmpty);

        // One page more changes nothing; many do.
        _site.File("docs/new.html", PageOf("first", 100));
        catalog.Reload();
        _clock.Advance(TimeSpan.FromMinutes(2));
        Run(catalog, pass);
        Assert.Same(first, pages.Current);
        Assert.NotNull(catalog.Current.Asset("/docs/new.html").Dictionary!.VariantFor(first.Hash, ContentCoding.DictionaryZstd));

        WritePages("second", 40);
        catalog.Reload();
        _clock.Advance(TimeSpan.FromMinutes(2));
        Run(catalog, pass);
        PageDictionary second = pages.Current!;
        Assert.NotEqual(first.Hash, second.Hash);
        AssetDictionary both = catalog.Current.Asset("/docs/7.html").Dictionary!;
        Assert.NotNull(both.VariantFor(second.Hash, ContentCoding.DictionaryZstd));
        Assert.NotNull(both.VariantFor(first.Hash, ContentCoding.DictionaryZstd));
        Assert.Empty(_failures);

        // The same pages give the same dictionary after a restart, and what earlier visitors have is still known.
        using AssetCatalog restarted = AssetCatalog.Open(options);
        var again = new PageDictionaries(restarted);
        Run(restarted, Open(restarted, options, null, again));
        Assert.NotNull(again.Current);
        Assert.NotNull(restarted.Current.Asset("/docs/7.html").Dictionary!.VariantFor(first.Hash, ContentCoding.DictionaryZstd));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task The_variants_for_a_dictionary_that_is_gone_are_freed_and_their_places_are_for_others()
    {
        SiteOptions options = Options with { PageDictionary = true, DictionaryVersions = 1 };
        WritePages("same", 40);
        using AssetCatalog catalog = AssetCatalog.Open(options);
        var pages = new PageDictionaries(catalog);
        DictionaryPass pass = Open(catalog, options, null, pages);
        Run(catalog, pass);
        DictionaryHash first = pages.Current!.Hash;
        Asset page = catalog.Current.Asset("/docs/7.html");
        Assert.NotNull(page.Dictionary!.VariantFor(first, ContentCoding.DictionaryZstd));
        long bytes = catalog.DictionaryBytesHeld;

        // All but ten pages are others each time: twenty dictionaries, of which two are kept.
        DictionaryHash last = first;
        for (int i = 0; i < 20; i++)
        {
            for (int number = 10; number < 40; number++)
            {
                _site.File($"docs/{number}.html", PageOf($"v{i}", number));
            }

            catalog.Reload();
            _clock.Advance(TimeSpan.FromMinutes(2));
            Run(catalog, pass);
            catalog.FreeReplaced();
            Assert.NotEqual(last, pages.Current!.Hash);
            last = pages.Current.Hash;
            page = catalog.Current.Asset("/docs/7.html");
            Assert.NotNull(page.Dictionary!.VariantFor(last, ContentCoding.DictionaryZstd));
        }

        Assert.Null(page.Dictionary!.VariantFor(first, ContentCoding.DictionaryZstd));
        Assert.Equal(2, page.Dictionary.Variants.Length);
        Assert.Equal(2, page.Dictionary.Tried.Count);
        await TempSite.UntilAsync(() => catalog.DictionaryBytesHeld < bytes * 3);
        Assert.Empty(_failures);
    }

    [Theory]
    [InlineData(0, 1_000_000, false)]
    [InlineData(1_000_000, 100, false)]
    [InlineData(1_000_000, 1_000_000, true)]
    public void Pages_link_to_a_dictionary_if_one_of_them_was_coded_with_it(long memoryBytes, long storeBytes, bool isLinked)
    {
        SiteOptions options = Options with
        {
            PageDictionary = true,
            DictionaryBytesTotalMax = memoryBytes,
            DictionaryStoreBytesMax = storeBytes,
        };
        WritePages("first", 40);
        using AssetCatalog catalog = AssetCatalog.Open(options);
        var pages = new PageDictionaries(catalog);
        Run(catalog, Open(catalog, options, null, pages));

        Assert.NotNull(pages.Current);
        Assert.Equal(isLinked, pages.Linked is not null);
    }

    [Fact]
    public void The_training_that_is_cancelled_is_done_by_the_next_slice()
    {
        SiteOptions options = Options with { PageDictionary = true };
        WritePages("first", 40);
        using AssetCatalog catalog = AssetCatalog.Open(options);
        using var stop = new CancellationTokenSource();
        var pages = new PageDictionaries(catalog);
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        Asset[] all = [.. Enumerable.Range(0, 40).Select(i => catalog.Current.Asset($"/docs/{i}.html"))];
        stop.Cancel();
        pages.Update(library, all, stop.Token);
        Assert.Null(pages.Current);
        Open(catalog, options, null, pages).Run(stop.Token);
        Assert.Null(pages.Current);

        pages.Update(library, all, CancellationToken.None);
        Assert.NotNull(pages.Current);
    }

    [Fact]
    public void A_text_that_is_taken_back_is_in_the_dictionary_no_more()
    {
        SiteOptions options = Options with { PageDictionary = true };
        byte[] secret = TestText.Of(3_000, 4711);
        WritePages("first", 40);
        for (int number = 0; number < 20; number++)
        {
            _site.File($"docs/{number}.html", PageOf("first", number) + Encoding.ASCII.GetString(secret));
        }

        using AssetCatalog catalog = AssetCatalog.Open(options);
        var pages = new PageDictionaries(catalog);
        DictionaryPass pass = Open(catalog, options, null, pages);
        Run(catalog, pass);
        Assert.True(pages.Current!.Bytes.AsSpan().IndexOf(secret.AsSpan(1_000, 40)) >= 0);

        WritePages("first", 40);
        catalog.Reload();
        _clock.Advance(TimeSpan.FromMinutes(2));
        Run(catalog, pass);

        Assert.True(pages.Current!.Bytes.AsSpan().IndexOf(secret.AsSpan(1_000, 40)) < 0);
    }

    [Theory]
    [InlineData("/docs/* /404.html 404!", true)]
    [InlineData("/docs/* /other/:splat 302!", true)]
    [InlineData("/docs/* /other/:splat 302", false)]
    [InlineData("", false)]
    public void Pages_that_a_rule_keeps_from_everybody_are_not_in_the_dictionary(string rule, bool isKept)
    {
        SiteOptions options = Options with { PageDictionary = true };
        WritePages("first", 40);
        _site.File("_redirects", rule);
        using AssetCatalog catalog = AssetCatalog.Open(options);
        var pages = new PageDictionaries(catalog);
        Run(catalog, Open(catalog, options, null, pages));

        Assert.Equal(isKept, pages.Current is null);
    }

    [Fact]
    public void Too_few_pages_have_no_dictionary()
    {
        SiteOptions options = Options with { PageDictionary = true };
        WritePages("first", 3);
        using AssetCatalog catalog = AssetCatalog.Open(options);
        var pages = new PageDictionaries(catalog);
        Run(catalog, Open(catalog, options, null, pages));

        Assert.Null(pages.Current);
    }

    private static string PageOf(string version, int number) =>
        $"<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{number}</title><link rel=\"stylesheet\" href=\"/{version}.css\">"
        + $"</head><body><nav>{string.Concat(Enumerable.Range(0, 30).Select(i => $"<a href=\"/docs/{i}.html\" class=\"entry\">{version} {i * 7919}</a>"))}</nav>"
        + $"<main>{Encoding.ASCII.GetString(TestText.Of(1_500, number))}</main><footer>{version} mill {Encoding.ASCII.GetString(TestText.Of(500, 99))}"
        + "</footer></body></html>";

    private void WritePages(string version, int count)
    {
        for (int i = 0; i < count; i++)
        {
            _site.File($"docs/{i}.html", PageOf(version, i));
        }
    }

    private void AssertCoded(Asset asset, byte[] body, byte[] dictionary)
    {
        Asset? variant = asset.Dictionary!.VariantFor(DictionaryHash.Of(dictionary), ContentCoding.DictionaryZstd);
        Assert.NotNull(variant);
        Assert.True(new ZstdDictionaryCoder(_library).IsCodingOf(variant.InMemoryBody, dictionary, body, CancellationToken.None));
        Assert.True(variant.Size < asset.Variants!.All.Min(static one => one.Size));
    }

    private DictionaryPass Open(
        AssetCatalog catalog,
        SiteOptions options,
        Func<Asset, bool>? isRestricted = null,
        PageDictionaries? pages = null,
        params DictionaryCoder[] more)
    {
        var history = new DictionaryHistory(
            new DictionaryFolder(Folder), options.DictionaryStoreBytesMax, options.DictionaryVersions, _clock, _failures.Add);
        return new DictionaryPass(catalog, options, history, pages, isRestricted ?? (static _ => false), _failures.Add, _clock)
        {
            Coders = [new ZstdDictionaryCoder(_library), .. more],
        };
    }

    /// <summary>Makes a file the only one in the folder, as a deployment does.</summary>
    private void Deploy(AssetCatalog catalog, string name, byte[] body, string replaced = "*-*")
    {
        if (Directory.Exists(_site.PathOf("assets")))
        {
            foreach (string old in Directory.GetFiles(_site.PathOf("assets"), replaced))
            {
                File.Delete(old);
            }
        }

        _clock.Advance(TimeSpan.FromSeconds(1));
        _site.File($"assets/{name}", body);
        catalog.Reload();
    }

    private static Asset AssetAt(AssetCatalog catalog, string name) => catalog.Current.Asset($"/assets/{name}");

    /// <summary>The plain codings first, as in the background.</summary>
    private static void Run(AssetCatalog catalog, DictionaryPass pass)
    {
        var plain = new CompressionPass(catalog, 10_000_000, static _ => { }, BodyCoder.TryCode, TimeProvider.System);
        Assert.Equal(PassOutcome.Complete, plain.Run(CancellationToken.None));
        pass.Run(CancellationToken.None);
    }

    /// <summary>A second coding without its library: what it makes is no brotli.</summary>
    private sealed class StandInCoder(ZstdLibrary library) : DictionaryCoder(ContentCoding.DictionaryBrotli)
    {
        private readonly ZstdDictionaryCoder _coder = new(library);

        public event Action<int>? Coded;

        public int Count { get; private set; }

        protected override ReadOnlySpan<byte> Magic => "dcb"u8;

        protected override int Code(ReadOnlySpan<byte> body, ReadOnlyMemory<byte> dictionary, Span<byte> destination, CancellationToken stop)
        {
            Coded?.Invoke(body.Length);
            byte[] coded = _coder.TryCode(body, dictionary, DictionaryHash.Of(dictionary.Span), destination.Length, stop) ?? [];
            coded.CopyTo(destination);
            Count += coded.Length > 0 ? 1 : 0;
            return coded.Length;
        }

        protected override bool IsContentCodingOf(
            ReadOnlySpan<byte> coded, ReadOnlyMemory<byte> dictionary, ReadOnlySpan<byte> body, CancellationToken stop) =>
            _coder.IsCodingOf(coded, dictionary, body, stop);
    }
}
