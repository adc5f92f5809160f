using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>Which asset is kept how, by its size and what the budgets leave.</summary>
public sealed class StrategyTests : IDisposable
{
    private readonly TempSite _site = new();

    public void Dispose() => _site.Dispose();

    [Fact]
    public void The_size_decides_at_the_byte()
    {
        SiteOptions options = _site.Options with { CacheFileBytesMax = 100, ReadBytesMax = 200 };
        foreach (int size in new[] { 0, 100, 101, 200, 201 })
        {
            _site.File($"{size}", new string('x', size));
        }

        using var catalog = AssetCatalog.Open(options);

        Assert.Equal(BodyStrategy.InMemory, catalog.Current.Asset("/0").Strategy);
        Assert.Equal(BodyStrategy.InMemory, catalog.Current.Asset("/100").Strategy);
        Assert.Equal(BodyStrategy.SingleRead, catalog.Current.Asset("/101").Strategy);
        Assert.Equal(BodyStrategy.SingleRead, catalog.Current.Asset("/200").Strategy);
        Assert.Equal(BodyStrategy.SendFile, catalog.Current.Asset("/201").Strategy);
        using var copying = AssetCatalog.Open(options with { SendFile = false });
        Assert.Equal(BodyStrategy.SingleRead, copying.Current.Asset("/200").Strategy);
        Assert.Equal(BodyStrategy.Streamed, copying.Current.Asset("/201").Strategy);
        foreach (int size in new[] { 0, 100, 101, 200, 201 })
        {
            Assert.Equal(new string('x', size), catalog.Current.Body($"/{size}"));
        }
    }

    [Fact]
    public void The_defaults_are_a_mebibyte_in_memory_and_256_kib_in_one_read()
    {
        _site.File("memory", new byte[1024 * 1024]);
        _site.File("stream", new byte[(1024 * 1024) + 1]);
        _site.File("read", new byte[256 * 1024]);
        var defaults = new SiteOptions { Root = _site.Root };
        using var catalog = AssetCatalog.Open(defaults);
        using var none = AssetCatalog.Open(defaults with { CacheBytesMax = 0 });

        Assert.Equal(BodyStrategy.InMemory, catalog.Current.Asset("/memory").Strategy);
        Assert.Equal(BodyStrategy.SendFile, catalog.Current.Asset("/stream").Strategy);
        Assert.Equal(BodyStrategy.SingleRead, none.Current.Asset("/read").Strategy);
        Assert.Equal(BodyStrategy.SendFile, none.Current.Asset("/memory").Strategy);
        Assert.InRange(defaults.ResolveCacheBytesMax(), 1, 256L * 1024 * 1024);
    }

    [Fact]
    public void The_memory_budget_goes_to_the_smallest_files_to_the_byte()
    {
        // Rounded to 64: 64 + 128 + 192 = 384 bytes.
        _site.File("c", new byte[192]);
        _site.File("a", new byte[1]);
        _site.File("b", new byte[65]);
        using var all = AssetCatalog.Open(_site.Options with { CacheBytesMax = 384 });
        using var two = AssetCatalog.Open(_site.Options with { CacheBytesMax = 383 });
        using var none = AssetCatalog.Open(_site.Options with { CacheBytesMax = 63 });

        Assert.Equal(384, all.Current.Totals.InMemoryBytes);
        Assert.Equal(BodyStrategy.InMemory, all.Current.Asset("/c").Strategy);
        Assert.Equal(192, two.Current.Totals.InMemoryBytes);
        Assert.Equal(BodyStrategy.InMemory, two.Current.Asset("/b").Strategy);
        Assert.Equal(BodyStrategy.SingleRead, two.Current.Asset("/c").Strategy);
        Assert.Equal(0, none.Current.Totals.InMemoryBytes);
        Assert.Equal(BodyStrategy.SingleRead, none.Current.Asset("/a").Strategy);
    }

    [Fact]
    public void Equal_sizes_are_decided_by_path()
    {
        foreach (string name in new[] { "d", "b", "a", "c" })
        {
            _site.File(name, "same");
        }

        using var catalog = AssetCatalog.Open(_site.Options with { CacheBytesMax = 128 });

        Assert.Equal(BodyStrategy.InMemory, catalog.Current.Asset("/a").Strategy);
        Assert.Equal(BodyStrategy.InMemory, catalog.Current.Asset("/b").Strategy);
        Assert.Equal(BodyStrategy.SingleRead, catalog.Current.Asset("/c").Strategy);
        Assert.Equal(BodyStrategy.SingleRead, catalog.Current.Asset("/d").Strategy);
    }

    [Fact]
    public unsafe void Bodies_in_memory_are_aligned_and_do_not_overlap()
    {
        // 300 files of 40 to 60 KB are more than 12 MiB: at least three chunks of 4 MiB.
        for (int i = 0; i < 300; i++)
        {
            byte[] content = new byte[40_000 + (i * 67)];
            Array.Fill(content, (byte)i);
            _site.File($"f{i}", content);
        }

        using AssetCatalog catalog = _site.Open();

        for (int i = 0; i < 300; i++)
        {
            Asset asset = catalog.Current.Asset($"/f{i}");
            Assert.Equal(BodyStrategy.InMemory, asset.Strategy);
            Assert.Equal(0, (nint)asset.InMemoryBodyAddress % 64);
            Assert.Equal(40_000 + (i * 67), asset.InMemoryBody.Length);
            Assert.False(asset.InMemoryBody.ContainsAnyExcept((byte)i));
        }
    }

    [Fact]
    public void A_body_larger_than_a_chunk_is_kept_in_memory_if_configured()
    {
        byte[] content = new byte[9_000_000];
        new Random(1).NextBytes(content);
        _site.File("big", content);
        using var catalog = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 10_000_000 });

        Assert.True(catalog.Current.Asset("/big").InMemoryBody.SequenceEqual(content));
    }

    [Fact]
    public void The_descriptor_budget_goes_to_the_smallest_and_the_rest_is_opened_on_demand()
    {
        for (int i = 0; i < 20; i++)
        {
            _site.File($"f{i:00}", new string((char)('a' + i), 100 + i));
        }

        // 10 for all versions of the site, so 5 for one.
        using var catalog = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 0, DescriptorsMax = 10 });

        Assert.Equal(5, catalog.Current.Totals.Descriptors);
        Assert.Equal(5, catalog.DescriptorsHeld);
        Assert.Equal(6, _site.OpenDescriptorCount());
        for (int i = 0; i < 20; i++)
        {
            Assert.Equal(i < 5, catalog.Current.Asset($"/f{i:00}").Descriptor != Asset.NoDescriptor);
            Assert.Equal(new string((char)('a' + i), 100 + i), catalog.Current.Body($"/f{i:00}"));
        }

        Assert.Equal(6, _site.OpenDescriptorCount());
    }

    [Fact]
    public void Opening_on_demand_gives_the_state_of_what_was_opened()
    {
        _site.File("f", "short");
        using var catalog = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 0, DescriptorsMax = 0 });
        Asset asset = catalog.Current.Asset("/f");
        _site.File("f", "and now it is longer");

        int fd = catalog.Current.OpenOnDemand(asset, out FileState state);

        Assert.True(fd >= 0);
        Assert.Equal(5, asset.Size);
        Assert.Equal(20, state.Size);
        Assert.True(state.ModifiedAtNs >= asset.ModifiedAtNs);
        Assert.Equal(0, FileCalls.Close(fd));
    }

    [Fact]
    public void A_held_descriptor_keeps_the_version_it_was_opened_on()
    {
        string full = _site.File("f", "first version");
        using var catalog = AssetCatalog.Open(_site.Options with { CacheFileBytesMax = 0 });
        _site.File("next", "second version");
        File.Move(_site.PathOf("next"), full, overwrite: true);

        Assert.Equal("first version", catalog.Current.Body("/f"));
        catalog.Reload();
        Assert.Equal("second version", catalog.Current.Body("/f"));
    }

    [Fact]
    public void The_default_descriptor_budget_is_half_of_what_the_process_may_open()
    {
        Assert.Equal(0, FileCalls.GetDescriptorLimit(out ResourceLimit limit));

        Assert.Equal((int)(limit.Soft / 2), _site.Options.ResolveDescriptorsMax());
        Assert.Equal(7, (_site.Options with { DescriptorsMax = 7 }).ResolveDescriptorsMax());
    }
}
