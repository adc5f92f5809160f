using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>RFC 9218: the order in which answers go out, seen where all of them wait for one window.</summary>
public class PriorityTests : Http2Test
{
    private const int BigBytes = 1024 * 1024;

    /// <summary>Four frames, and from memory: no read of a file lets another go first.</summary>
    private const int QueuedBytes = 50_000;

    [Fact]
    public async Task The_most_urgent_response_goes_first()
    {
        Http2Wire client = await QueueAsync("u=5", "u=1", "u=7", "u=0", "u=3");

        Assert.Equal("4, 2, 5, 1, 3", string.Join(", ", await OrderAsync(client, 5)));
    }

    [Fact]
    public async Task Responses_of_one_urgency_go_one_after_the_other_as_they_were_asked_for()
    {
        Http2Wire client = await QueueAsync("", "u=3", "i=?0", "");
        await OrderAsync(client, 4);

        Assert.Equal([3, 3, 3, 3, 5, 5, 5, 5, 7, 7, 7, 7, 9, 9, 9, 9], client.DataOrder);
    }

    [Fact]
    public async Task A_response_keeps_its_place_when_others_are_given_up()
    {
        Http2Wire client = await QueueAsync("", "", "", "", "i");
        await client.SendAsync(Frame.Reset(3), Frame.Reset(11), Frame.WindowUpdate(0, 16 * BigBytes));
        foreach (int streamId in (int[])[5, 7, 9])
        {
            (await client.ReadResponseAsync(streamId)).AssertIsWhole(SiteFolder.Bytes(QueuedBytes));
        }

        Assert.Equal([5, 5, 5, 5, 7, 7, 7, 7, 9, 9, 9, 9], client.DataOrder);
    }

    [Fact]
    public async Task PRIORITY_UPDATE_has_whole_responses_share_and_others_go_whole()
    {
        Http2Wire client = await QueueAsync("", "i", "");
        await client.SendAsync(Frame.PriorityUpdate(3, "i"), Frame.PriorityUpdate(5, "u=3"), Frame.PriorityUpdate(7, "u=3, i"));
        await OrderAsync(client, 3);

        // 5 is whole now, and 3 and 7 share.
        Assert.Equal([5, 3, 5, 7, 5, 3, 5, 7, 3, 7, 3, 7], client.DataOrder);
    }

    [Fact]
    public async Task Incremental_responses_of_one_urgency_share()
    {
        Http2Wire client = await QueueAsync("i", "i", "i");
        await OrderAsync(client, 3);

        Assert.Equal([3, 5, 7, 3, 5, 7, 3, 5, 7, 3, 5, 7], client.DataOrder);
    }

    [Fact]
    public async Task Whole_and_incremental_responses_of_one_urgency_take_turns()
    {
        Http2Wire client = await QueueAsync("", "i", "i");
        await OrderAsync(client, 3);

        Assert.Equal([3, 5, 3, 7, 3, 5, 3, 7, 5, 7, 5, 7], client.DataOrder);
    }

    [Fact]
    public async Task PRIORITY_UPDATE_moves_a_response()
    {
        Http2Wire client = await QueueAsync("u=2", "u=2", "u=2");
        await client.SendAsync(Frame.PriorityUpdate(7, "u=0"), Frame.PriorityUpdate(3, "u=6"));

        Assert.Equal("3, 2, 1", string.Join(", ", await OrderAsync(client, 3)));
    }

    [Fact]
    public async Task PRIORITY_UPDATE_may_come_before_its_request_and_counts_for_more_than_its_field()
    {
        Http2Wire client = await QueueAsync();
        await client.SendAsync(Frame.PriorityUpdate(5, "u=0"));
        await RequestAsync(client, ["u=1", "u=7"]);

        Assert.Equal("2, 1", string.Join(", ", await OrderAsync(client, 2)));
    }

    [Fact]
    public async Task A_priority_that_is_none_means_the_default()
    {
        Http2Wire client = await QueueAsync("u=5", "u=9", "nonsense=((", "u=2");

        Assert.Equal("4, 2, 3, 1", string.Join(", ", await OrderAsync(client, 4)));
    }

    [Fact]
    public async Task A_large_response_does_not_keep_small_ones_of_its_urgency_waiting()
    {
        Folder.AddSized(4 * BigBytes);
        Http2Wire client = await OpenAsync(opensWindows: false, settings: (SettingId.InitialWindowSize, 16u * BigBytes));
        await client.SendAsync(Frame.Headers(1, Block.Get(SiteFolder.Target(4 * BigBytes))));
        await client.SettleAsync();
        await client.SendAsync(Frame.Headers(3, Block.Get(Large)), Frame.WindowUpdate(0, 8 * BigBytes));
        (await client.ReadResponseAsync(3)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));

        Assert.False(client.Of(1).IsWhole);
        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(4 * BigBytes));
    }

    [Fact]
    public async Task A_large_response_does_not_keep_a_PING_waiting()
    {
        Folder.AddSized(16 * BigBytes);
        Http2Wire client = await OpenAsync(settings: (SettingId.InitialWindowSize, 64u * BigBytes));
        await client.SendAsync(Frame.WindowUpdate(0, 64 * BigBytes), Frame.Headers(1, Block.Get(SiteFolder.Target(16 * BigBytes))));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        await client.SettleAsync();

        Assert.False(client.Of(1).IsWhole);
    }

    [Fact]
    public async Task A_response_whose_own_window_is_closed_keeps_nobody_waiting()
    {
        Http2Wire client = await OpenAsync(opensWindows: false, settings: (SettingId.InitialWindowSize, 0u));
        await client.SendAsync(
            Frame.Headers(1, Block.Get(Large, "priority: u=0")),
            Frame.Headers(3, Block.Get(Large, "priority: u=7")),
            Frame.WindowUpdate(0, LargeBytes),
            Frame.WindowUpdate(3, LargeBytes));

        (await client.ReadResponseAsync(3)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
        Assert.Equal(0, client.Of(1).Body.Length);
    }

    /// <summary>
    /// A client that has asked for answers of these priorities on the streams 3, 5 and so on, on a connection that lets no data through:
    /// the first stream has used its window up, and was reset.
    /// </summary>
    private async Task<Http2Wire> QueueAsync(params string[] priorities)
    {
        Folder.AddSized(QueuedBytes);
        Http2Wire client = await OpenAsync(opensWindows: false, settings: (SettingId.InitialWindowSize, 16u * BigBytes));
        await client.SendAsync(Frame.Headers(1, Block.Get(Large, "priority: u=4")));
        while (client.Of(1).Body.Length < 65_535)
        {
            await client.TakeAsync(await client.ReadFrameAsync());
        }

        await client.SendAsync(Frame.Reset(1));
        client.DataOrder.Clear();
        await RequestAsync(client, priorities);
        return client;
    }

    private static async Task RequestAsync(Http2Wire client, string[] priorities)
    {
        for (int i = 0; i < priorities.Length; i++)
        {
            await client.SendAsync(
                Frame.Headers(3 + (2 * i), Block.Get(SiteFolder.Target(QueuedBytes), $"priority: {priorities[i]}")));
        }

        await client.SettleAsync();
        Assert.Empty(client.DataOrder);
    }

    /// <summary>Lets all go, and gives the order in which the responses begin: which is the first, and so on.</summary>
    private static async Task<int[]> OrderAsync(Http2Wire client, int count)
    {
        await client.SendAsync(Frame.WindowUpdate(0, 16 * BigBytes));
        for (int i = 0; i < count; i++)
        {
            (await client.ReadResponseAsync(3 + (2 * i))).AssertIsWhole(SiteFolder.Bytes(QueuedBytes));
        }

        return [.. client.DataOrder.Distinct().Select(static streamId => (streamId - 1) / 2)];
    }
}
