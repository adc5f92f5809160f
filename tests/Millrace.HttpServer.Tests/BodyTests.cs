using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Tests;

public class BodyTests : SiteFixture
{
    /// <summary>The ways to send a body, as options that force them upon every size.</summary>
    private static readonly Dictionary<string, Func<SiteOptions, SiteOptions>> Ways = new()
    {
        ["by size"] = options => options,
        ["in memory"] = options => options with { CacheFileBytesMax = 2 * 1024 * 1024 },
        ["single read"] = options => options with { CacheFileBytesMax = 0, ReadBytesMax = 2 * 1024 * 1024 },
        ["streamed"] = options => options with { CacheFileBytesMax = 0, ReadBytesMax = 0 },
        ["opened on demand"] = options => options with { DescriptorsMax = 0 },
        ["single read, opened on demand"] = options => options with { CacheFileBytesMax = 0, ReadBytesMax = 2 * 1024 * 1024, DescriptorsMax = 0 },
        ["streamed, opened on demand"] = options => options with { CacheFileBytesMax = 0, ReadBytesMax = 0, DescriptorsMax = 0 },
        ["no memory left"] = options => options with { CacheBytesMax = 0 },
    };

    public static TheoryData<string> WayNames => [.. Ways.Keys];

    [Theory]
    [MemberData(nameof(WayNames))]
    public async Task Every_size_arrives_whole_in_every_way(string way)
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync(Ways[way]);

        // Alone with its reads, and all in one batch, so that bodies of different ways stand side by side in one output.
        Wire single = await site.ConnectAsync();
        foreach (int size in SiteFolder.Sizes)
        {
            (await single.GetAsync(SiteFolder.Target(size))).AssertIsWhole(SiteFolder.Bytes(size));
        }

        Wire batch = await site.ConnectAsync();
        int[] mixed = [.. SiteFolder.Sizes, .. SiteFolder.Sizes.Reverse()];
        await batch.SendAsync(string.Concat(mixed.Select(size => $"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n\r\n")));
        foreach (int size in mixed)
        {
            (await batch.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(size));
        }
    }

    [Fact]
    public async Task Each_size_is_sent_in_the_way_the_tests_mean()
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync();

        Assert.Equal(BodyStrategy.InMemory, StrategyOf(65_536));
        Assert.Equal(BodyStrategy.SingleRead, StrategyOf(65_537));
        Assert.Equal(BodyStrategy.SingleRead, StrategyOf(262_144));
        Assert.Equal(BodyStrategy.SendFile, StrategyOf(262_145));
        // Five files that are read, and of those that are kept the four that are pages.
        Assert.Equal(9, site.Catalog.DescriptorsHeld);

        BodyStrategy StrategyOf(int size)
        {
            Assert.Equal(PathMatch.Asset, site.Catalog.Current.TryFind(System.Text.Encoding.ASCII.GetBytes(SiteFolder.Target(size)), out Asset? asset, out _));
            return asset!.Strategy;
        }
    }

    [Fact]
    public async Task A_slow_reader_holds_nobody_up_and_gets_everything()
    {
        Folder.AddSizes();
        byte[] large = Folder.AddSized(8 * 1024 * 1024);
        RunningSite site = await StartAsync();
        Wire slow = await site.ConnectAsync(receiveBufferBytes: 4096);
        await slow.SendAsync($"GET {SiteFolder.Target(large.Length)} HTTP/1.1\r\nHost: a\r\n\r\n");
        Response head = await slow.ReadHeadAsync();

        Wire quick = await site.ConnectAsync();
        foreach (int size in SiteFolder.Sizes)
        {
            (await quick.GetAsync(SiteFolder.Target(size))).AssertIsWhole(SiteFolder.Bytes(size));
        }

        (head with { Body = await slow.ReadBytesAsync(large.Length) }).AssertIsWhole(large);
        (await slow.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    /// <summary>Whatever a stage makes of a body is memory that others lack, for as long as its reader takes.</summary>
    [Theory]
    [InlineData(true, "")]
    [InlineData(false, "Range: bytes=0-3000000,4000000-8388607\r\n")]
    [InlineData(true, "Range: bytes=0-3000000,4000000-8388607\r\n")]
    public async Task A_slow_reader_of_what_is_in_memory_holds_little_of_it_twice(bool isStaged, string field)
    {
        const int Bytes = 8 * 1024 * 1024;
        const int HeldBytesMax = 600 * 1024;
        byte[] large = Folder.AddSized(Bytes);
        RunningSite site = await StartAsync(static options => options with { CacheFileBytesMax = Bytes });
        Wire slow = isStaged ? await site.ConnectStagedAsync(4096) : await site.ConnectAsync(4096);
        await slow.SendAsync($"GET {SiteFolder.Target(Bytes)} HTTP/1.1\r\nHost: a\r\n{field}\r\n");
        Response head = await slow.ReadHeadAsync();
        for (int i = 0; i < 20; i++)
        {
            Assert.InRange(await site.LentBytesAsync(), 0, HeldBytesMax);
            await Task.Delay(5);
        }

        int bytes = int.Parse(head.Field("Content-Length")!, System.Globalization.CultureInfo.InvariantCulture);
        byte[] body = await slow.ReadBytesAsync(bytes);
        Assert.True(field.Length == 0 ? body.AsSpan().SequenceEqual(large) : body.AsSpan().IndexOf(large.AsSpan(4_000_000)) > 3_000_001);
        (await slow.GetAsync(SiteFolder.Target(Bytes))).AssertIsWhole(large);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    [Trait("Duration", "Full")]
    public async Task Readers_of_a_long_listing_who_take_nothing_of_it_hold_little_and_get_everything(bool isStaged)
    {
        const int Clients = 8;
        const int HeldBytesMax = Clients * 600 * 1024;
        const string Request = "GET /many/ HTTP/1.1\r\nHost: a\r\nAccept: application/json\r\n\r\n";
        for (int i = 0; i < 4_000; i++)
        {
            Folder.Add($"/many/{i}-{new string('n', 200)}", []);
        }

        RunningSite site = await StartAsync(static options => options with { Listing = true });
        Wire quick = await site.ConnectAsync();
        byte[] listing = await ReadAsync(quick);
        Assert.True(listing.Length > 1_000_000);
        var wires = new List<(Wire Wire, Response Head)>();
        for (int i = 0; i < Clients; i++)
        {
            Wire wire = isStaged ? await site.ConnectStagedAsync(4096) : await site.ConnectAsync(4096);
            await wire.SendAsync(Request);
            wires.Add((wire, await wire.ReadHeadAsync()));
        }

        for (int i = 0; i < 20; i++)
        {
            Assert.InRange(await site.LentBytesAsync(), 0, HeldBytesMax);
            await Task.Delay(5, TestContext.Current.CancellationToken);
        }

        foreach ((Wire wire, Response head) in wires)
        {
            (head with { Body = await wire.ReadBytesAsync(listing.Length) }).AssertIsWhole(listing);
            Assert.Equal(listing.Length, (await ReadAsync(wire)).Length);
        }

        static async Task<byte[]> ReadAsync(Wire wire)
        {
            await wire.SendAsync(Request);
            return (await wire.ReadResponseAsync()).Body;
        }
    }
}
