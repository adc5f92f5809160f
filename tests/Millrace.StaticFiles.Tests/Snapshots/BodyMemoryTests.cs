using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>What bodies lie in: memory, or the pages of a file without a name.</summary>
public sealed class BodyMemoryTests : IDisposable
{
    private readonly TempSite _site = new();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData(0, true, false, 0)]
    [InlineData(1, true, false, 64)]
    [InlineData(32_767, true, false, 32_768)]
    [InlineData(32_768, true, true, 32_768)]
    [InlineData(32_769, true, true, 36_864)]
    [InlineData(200_000, false, false, 200_704)]
    public unsafe void Large_ones_are_pages_of_a_file_where_they_may_be(long bytes, bool mayHoldDescriptor, bool hasPages, long taken)
    {
        BodyMemory memory = BodyMemory.Allocate(bytes, mayHoldDescriptor);
        Assert.Equal(hasPages, memory.HasPages);
        Assert.Equal((taken, bytes), (BodyMemory.AllocatedBytes(bytes), memory.Bytes));
        Assert.Equal(0, (nint)memory.Address % 64);
        memory.Body.Fill(7);
        Assert.False(memory.Body.ContainsAnyExcept((byte)7));
        memory.Release();
    }

    [Fact]
    public void The_file_holds_what_was_written_to_the_memory_and_goes_with_it()
    {
        BodyMemory memory = BodyMemory.Allocate(150_000, mayHoldDescriptor: true);
        new Random(1).NextBytes(memory.Body);
        string link = $"/proc/self/fd/{memory.Pages}";

        Assert.StartsWith("/memfd:millrace", new FileInfo(link).LinkTarget, StringComparison.Ordinal);
        Assert.Equal(memory.Body.ToArray(), File.ReadAllBytes(link));
        string inode = InodeOfMapping(memory)!;
        memory.Release();

        Assert.NotEqual(inode, InodeOfMapping(memory));
    }

    [Fact]
    public unsafe void Mappings_are_left_for_others()
    {
        Assert.False(BodyMemory.TryAllocatePages(150_000, mappingsMax: 0, out BodyMemory none));
        Assert.True(none.Address == null);
        Assert.True(BodyMemory.TryAllocatePages(150_000, mappingsMax: 10_000, out BodyMemory memory));
        memory.Release();
    }

    [Fact]
    public async Task They_are_counted_with_the_descriptors_and_given_back()
    {
        byte[] content = new byte[200_000];
        new Random(2).NextBytes(content);
        _site.File("large.bin", content);
        _site.File("small.bin", new byte[1_000]);
        using var catalog = AssetCatalog.Open(_site.Options with { DescriptorsMax = 10, CacheFileBytesMax = 200_000 });
        Asset large = catalog.Current.Asset("/large.bin");

        Assert.Equal((BodyStrategy.InMemory, true), (large.Strategy, large.Descriptor != Asset.NoDescriptor));
        Assert.True(large.InMemoryBody.SequenceEqual(content));
        Assert.Equal((1, 200_704 + 1_024), (catalog.DescriptorsHeld, catalog.InMemoryBytesHeld));
        File.Delete(_site.PathOf("large.bin"));
        catalog.Reload();
        await TempSite.UntilAsync(() => (catalog.DescriptorsHeld, catalog.InMemoryBytesHeld) == (0, 1_024));
    }

    [Fact]
    public void Without_a_descriptor_they_are_memory_all_the_same()
    {
        _site.File("a.bin", new byte[140_000]);
        _site.File("b.bin", new byte[150_000]);
        using var none = AssetCatalog.Open(_site.Options with { DescriptorsMax = 0, CacheFileBytesMax = 200_000 });
        using var one = AssetCatalog.Open(_site.Options with { DescriptorsMax = 2, CacheFileBytesMax = 200_000 });

        Assert.Equal(
            (BodyStrategy.InMemory, Asset.NoDescriptor, BodyStrategy.InMemory, Asset.NoDescriptor),
            (none.Current.Asset("/a.bin").Strategy, none.Current.Asset("/a.bin").Descriptor,
                none.Current.Asset("/b.bin").Strategy, none.Current.Asset("/b.bin").Descriptor));
        Assert.NotEqual(Asset.NoDescriptor, one.Current.Asset("/a.bin").Descriptor);
        Assert.Equal(Asset.NoDescriptor, one.Current.Asset("/b.bin").Descriptor);
        Assert.Equal(1, one.DescriptorsHeld);
    }

    [Theory]
    [InlineData(10, 1)]
    [InlineData(0, 0)]
    public async Task Published_variants_are_pages_too(int descriptorsMax, int held)
    {
        _site.File("page.html", new string('x', 1_000));
        using var catalog = AssetCatalog.Open(_site.Options with { DescriptorsMax = descriptorsMax });
        byte[] coded = new byte[160_000];
        new Random(3).NextBytes(coded);

        Assert.Equal(
            PublishOutcome.Published,
            catalog.Publish(catalog.Current.Asset("/page.html"), [new CodedBody(Http.ContentCoding.Brotli, coded)]));
        Asset variant = catalog.Current.Asset("/page.html").VariantFor(Http.ContentCoding.Brotli)!;
        Assert.True(variant.InMemoryBody.SequenceEqual(coded));
        Assert.Equal((held, held > 0), (catalog.DescriptorsHeld, variant.Descriptor != Asset.NoDescriptor));

        // What is not taken gives back what was kept for it.
        Assert.NotEqual(
            PublishOutcome.Published,
            catalog.Publish(catalog.Current.Asset("/page.html"), [new CodedBody(Http.ContentCoding.Gzip, new byte[70_000_000])]));
        Assert.Equal(held, catalog.DescriptorsHeld);
        catalog.Dispose();
        await TempSite.UntilAsync(() => (catalog.DescriptorsHeld, catalog.CompressedBytesHeld, catalog.InMemoryBytesHeld) == (0, 0, 0));
    }

    private static unsafe string? InodeOfMapping(BodyMemory memory)
    {
        string begin = $"{(nint)memory.Address:x}-";
        return File.ReadLines("/proc/self/maps").FirstOrDefault(line => line.StartsWith(begin, StringComparison.Ordinal))?.Split(' ')[4];
    }
}
