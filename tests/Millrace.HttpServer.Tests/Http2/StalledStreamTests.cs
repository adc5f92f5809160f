using System.Net;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>Streams that no window lets through: what they hold is little, is counted, and is taken from who holds most first.</summary>
public class StalledStreamTests : Http2Test
{
    private const int Streams = 100;

    private static readonly (SettingId, uint) NoWindow = (SettingId.InitialWindowSize, 0u);

    [Fact]
    public async Task They_have_heads_and_neither_descriptors_nor_blocks_until_a_byte_may_be_sent()
    {
        RunningSite site = await StartOnDemandAsync();
        Http2Wire client = await Http2Wire.OpenAsync(site, opensWindows: false, 0, NoWindow);
        await client.SendAsync([.. Enumerable.Range(0, Streams).Select(static i => Frame.Headers((2 * i) + 1, Block.Get(Large)))]);
        await ReadHeadsAsync(client, Streams);
        Assert.Equal(0, OpenFiles());
        await client.SettleAsync();
        Assert.InRange(await site.LentBytesAsync(), 0, 64 * 1024);

        await client.SendAsync(Frame.WindowUpdate(0, LargeBytes), Frame.WindowUpdate(5, LargeBytes));
        (await client.ReadResponseAsync(5)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
        Assert.Equal(0, OpenFiles());
    }

    [Fact]
    public async Task The_windows_of_the_connection_count_as_well()
    {
        RunningSite site = await StartOnDemandAsync();
        Http2Wire client = await Http2Wire.OpenAsync(site, opensWindows: false);
        await client.SendAsync([.. Enumerable.Range(0, Streams).Select(static i => Frame.Headers((2 * i) + 1, Block.Get(Large)))]);
        await ReadHeadsAsync(client, Streams);
        Assert.InRange(OpenFiles(), 1, 4);
    }

    [Fact]
    public async Task A_file_that_is_another_when_its_first_byte_may_be_sent_is_not_sent_under_the_head_of_the_first()
    {
        RunningSite site = await StartOnDemandAsync();
        Http2Wire client = await Http2Wire.OpenAsync(site, opensWindows: false, 0, NoWindow);
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)));
        await ReadHeadsAsync(client, streams: 1);
        Folder.Add(Large, SiteFolder.Bytes(LargeBytes + 1));
        await client.SendAsync(Frame.WindowUpdate(0, 2 * LargeBytes), Frame.WindowUpdate(1, 2 * LargeBytes));

        Assert.Equal(Http2Error.InternalError, (await client.ReadAsync(1)).Reset);
        Assert.Empty(client.Of(1).Body.ToArray());
    }

    [Fact]
    public async Task A_file_that_is_another_before_its_head_is_sent_is_sent_whole_as_what_it_is()
    {
        RunningSite site = await StartOnDemandAsync();
        Folder.Add(Large, SiteFolder.Bytes(LargeBytes + 1));
        Http2Wire client = await Http2Wire.OpenAsync(site);
        Response response = await client.GetAsync(1, Large, "range: bytes=0-9");

        Assert.Equal(200, response.Status);
        Assert.Equal(SiteFolder.Bytes(LargeBytes + 1), response.Body);
    }

    [Fact]
    public async Task A_file_that_is_gone_before_its_head_is_sent_is_answered_404()
    {
        RunningSite site = await StartOnDemandAsync();
        File.Delete(Folder.Root + Large);
        Http2Wire client = await Http2Wire.OpenAsync(site);

        Assert.Equal(404, (await client.GetAsync(1, Large)).Status);
        Assert.Equal(404, (await client.GetAsync(3, "/none")).Status);
    }

    [Fact]
    public async Task Who_holds_most_by_them_is_refused_and_reset_and_a_new_client_has_its_page_at_any_time()
    {
        const long Most = 2 * 1024 * 1024;
        Folder.AddSized(1000);
        RunningSite site = await StartOnDemandAsync(new Limits { BufferBytes = Most });
        byte[][] requests = [.. Enumerable.Range(0, Streams).Select(static i => Frame.Headers((2 * i) + 1, Block.Get(Large)))];
        Reactor reactor = site.Group.Reactors[0];
        for (int round = 0; round < 60 || reactor.Counters.Refused == 0; round++)
        {
            Wire attacker = await site.ConnectFromAsync(IPAddress.Parse("127.0.0.2"));
            byte[] all = [.. Http2Wire.PrefaceBytes, .. Frame.Settings(NoWindow), .. requests.SelectMany(static one => one)];
            _ = await Record.ExceptionAsync(() => attacker.SendAsync(all));
            using Wire fresh = await site.ConnectFromAsync(IPAddress.Parse($"127.0.0.{3 + (round % 100)}"));
            (await fresh.GetAsync(Small)).AssertIsWhole(SiteFolder.Bytes(1000));
            Assert.InRange(reactor.Accounts.Bytes, 0, Most + (Most / 8));
        }

        _ = site.TakeWarnings();
    }

    /// <summary>No file of it is open before it is asked for.</summary>
    private Task<RunningSite> StartOnDemandAsync(Limits? limits = null)
    {
        Folder.AddSized(LargeBytes);
        return StartAsync(
            static options => options with { DescriptorsMax = 0 },
            engine: new EngineOptions { Reactors = 1, Limits = limits ?? new Limits() });
    }

    private static async Task ReadHeadsAsync(Http2Wire client, int streams)
    {
        while (!Enumerable.Range(0, streams).All(i => client.Of((2 * i) + 1).HasHead))
        {
            await client.TakeAsync(await client.ReadFrameAsync());
        }
    }

    private int OpenFiles() => Directory.GetFiles("/proc/self/fd")
        .Count(path => new FileInfo(path).LinkTarget?.StartsWith(Folder.Root + "/", StringComparison.Ordinal) == true);
}
