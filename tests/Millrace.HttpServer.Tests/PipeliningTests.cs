using System.Text;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

public class PipeliningTests : SiteFixture
{
    [Theory]
    [InlineData(16_384)]
    [InlineData(1024 * 1024)]
    public async Task A_hundred_requests_in_one_batch_are_answered_in_order(int sizeMax)
    {
        Folder.AddSizes();
        int[] sizes = [.. SiteFolder.Sizes.Where(size => size <= sizeMax)];
        Wire wire = await (await StartAsync()).ConnectAsync();
        int[] asked = [.. Enumerable.Range(0, 100).Select(i => sizes[i * 7 % sizes.Length])];

        Task sending = wire.SendAsync(string.Concat(asked.Select(size => $"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n\r\n")));

        foreach (int size in asked)
        {
            (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(size));
        }

        await sending;
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task What_is_asked_for_after_a_long_listing_waits_for_it()
    {
        Folder.AddSized(1000);
        for (int i = 0; i < 1_200; i++)
        {
            Folder.Add($"/many/{i}", []);
        }

        RunningSite site = await StartAsync(static options => options with { Listing = true });
        Wire wire = await site.ConnectAsync();
        string file = $"GET {SiteFolder.Target(1000)} HTTP/1.1\r\nHost: a\r\n\r\n";

        await wire.SendAsync(string.Concat(
            file, Listing("size"), Listing("time"), file, Listing("size"), file.Replace("\r\nHost", "\r\nConnection: close\r\nHost", StringComparison.Ordinal)));

        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        byte[] bySize = (await wire.ReadResponseAsync()).Body;
        byte[] byTime = (await wire.ReadResponseAsync()).Body;
        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        Assert.Equal(bySize, (await wire.ReadResponseAsync()).Body);
        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        Assert.NotEqual(bySize, byTime);

        static string Listing(string order) => $"GET /many/?sort={order} HTTP/1.1\r\nHost: a\r\n\r\n";
    }

    [Fact]
    public async Task A_batch_may_be_split_at_every_byte()
    {
        Folder.AddSized(1000);
        Folder.AddSized(65_537);
        RunningSite site = await StartAsync();
        byte[] batch = Encoding.Latin1.GetBytes(
            $"GET {SiteFolder.Target(1000)} HTTP/1.1\r\nHost: a\r\n\r\n"
            + "POST /none HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nGET "
            + $"GET {SiteFolder.Target(65_537)}?q HTTP/1.1\r\nHost: a\r\n\r\n");

        for (int cut = 1; cut < batch.Length; cut++)
        {
            using Wire wire = await site.ConnectAsync();
            await wire.SendAsync(batch.AsMemory(0, cut));
            await wire.SendAsync(batch.AsMemory(cut));

            (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
            Assert.Equal(405, (await wire.ReadResponseAsync()).Status);
            (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(65_537));
        }
    }

    [Fact]
    public async Task A_batch_may_come_byte_by_byte()
    {
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectAsync();
        string request = $"GET {SiteFolder.Target(1000)} HTTP/1.1\r\nHost: a\r\n\r\n";
        foreach (char character in request + request)
        {
            await wire.SendAsync(character.ToString());
        }

        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_client_that_only_sends_is_stopped_and_later_gets_everything()
    {
        const int Requests = 4000;
        Folder.AddSized(16_384);
        Wire wire = await (await StartAsync()).ConnectAsync(receiveBufferBytes: 4096);
        string request = $"GET {SiteFolder.Target(16_384)} HTTP/1.1\r\nHost: a\r\n\r\n";

        Task sending = wire.SendAsync(string.Concat(Enumerable.Repeat(request, Requests)));

        byte[] expected = SiteFolder.Bytes(16_384);
        for (int i = 0; i < Requests; i++)
        {
            (await wire.ReadResponseAsync()).AssertIsWhole(expected);
        }

        await sending;
    }

    [Theory]
    [InlineData(1)]
    [InlineData(7)]
    public async Task A_long_batch_leaves_the_turn_to_others_again_and_again(int responsesPerIteration)
    {
        const int Requests = 200;
        Folder.AddSized(1000);
        RunningSite site = await StartAsync(limits: new HttpServerLimits { ResponsesPerIteration = responsesPerIteration });
        Wire wire = await site.ConnectAsync();
        (await wire.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        long iterationsBefore = site.Group.Reactors[0].Counters.Iterations;

        // One packet: it arrives in one turn.
        await wire.SendAsync(string.Concat(Enumerable.Repeat("GET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n", Requests)));
        for (int i = 0; i < Requests; i++)
        {
            (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        }

        Assert.InRange(site.Group.Reactors[0].Counters.Iterations - iterationsBefore, Requests / responsesPerIteration, long.MaxValue);
    }
}
