using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>RFC 9113, section 5.1: which frames a stream takes in which state.</summary>
public class StreamStateTests : Http2Test
{
    [Fact]
    public Task DATA_on_an_idle_stream_is_an_error_of_the_connection() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Data(1, [1]));

    [Fact]
    public Task RST_STREAM_on_an_idle_stream_is_an_error_of_the_connection() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Reset(1));

    [Fact]
    public Task WINDOW_UPDATE_on_an_idle_stream_is_an_error_of_the_connection() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.WindowUpdate(1, 1));

    [Fact]
    public Task CONTINUATION_on_an_idle_stream_is_an_error_of_the_connection() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Continuation(1, Block.Get(Small)));

    [Fact]
    public Task PRIORITY_on_an_idle_stream_is_ignored() => AssertIgnoresAsync(Frame.Priority(1), Frame.Priority(7, dependsOn: 1));

    [Fact]
    public Task A_stream_of_ours_is_idle_for_ever() => AssertFailsAsync(Http2Error.ProtocolError, Frame.WindowUpdate(2, 1));

    [Fact]
    public Task DATA_after_the_end_of_a_request_is_STREAM_CLOSED() =>
        AssertResetsAsync(1, Http2Error.StreamClosed, Frame.Headers(1, Block.Get(Large)), Frame.Data(1, [1]));

    [Fact]
    public Task HEADERS_after_the_end_of_a_request_are_STREAM_CLOSED() =>
        AssertResetsAsync(1, Http2Error.StreamClosed, Frame.Headers(1, Block.Get(Large)), Frame.Headers(1, Block.Get(Large)));

    [Fact]
    public async Task After_the_end_of_a_request_windows_and_priorities_are_taken()
    {
        Http2Wire client = await OpenAsync(opensWindows: false);
        await client.SendAsync(
            Frame.Headers(1, Block.Get(Large)), Frame.Priority(1), Frame.WindowUpdate(1, LargeBytes), Frame.WindowUpdate(0, LargeBytes));

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
    }

    [Fact]
    public async Task RST_STREAM_ends_a_response_and_no_other()
    {
        Http2Wire client = await OpenAsync(opensWindows: false);
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        await client.SendAsync(Frame.Reset(1), Frame.WindowUpdate(0, LargeBytes));
        await client.SettleAsync();
        int before = client.DataOrder.Count;
        await client.SettleAsync();

        Assert.Equal(before, client.DataOrder.Count);
        (await client.GetAsync(3, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task DATA_on_a_closed_stream_is_STREAM_CLOSED()
    {
        Http2Wire client = await OpenAsync();
        (await client.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        await client.SendAsync(Frame.Data(1, [1]));
        Frame reset = await client.ReadUntilAsync(FrameType.RstStream);

        Assert.Equal((1, Http2Error.StreamClosed), (reset.StreamId, reset.Error));
        (await client.GetAsync(3, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task DATA_after_RST_STREAM_is_STREAM_CLOSED()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Request("POST", "/none"), FrameFlags.EndHeaders), Frame.Reset(1), Frame.Data(1, [1]));
        Frame reset = await client.ReadUntilAsync(FrameType.RstStream);

        Assert.Equal((1, Http2Error.StreamClosed), (reset.StreamId, reset.Error));
    }

    [Fact]
    public async Task HEADERS_on_a_closed_stream_are_an_error_of_the_connection()
    {
        Http2Wire client = await OpenAsync();
        (await client.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        await client.SendAsync(Frame.Headers(1, Block.Get(Small)));

        await client.AssertFailsAsync(Http2Error.StreamClosed);
    }

    [Fact]
    public async Task What_crosses_the_end_of_a_closed_stream_is_ignored()
    {
        Http2Wire client = await OpenAsync();
        (await client.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        await client.SendAsync(Frame.WindowUpdate(1, 1), Frame.Reset(1), Frame.Priority(1), Frame.PriorityUpdate(1, "u=1"));

        (await client.GetAsync(3, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task What_comes_for_a_stream_that_the_server_has_reset_is_ignored()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(
            Frame.Headers(1, Block.Of((":method", "GET")), FrameFlags.EndHeaders),
            Frame.Data(1, new byte[100], FrameFlags.None),
            Frame.WindowUpdate(1, 1),
            Frame.Headers(1, Block.Of(("a", "b"))));

        await client.AssertResetsAsync(1, Http2Error.ProtocolError);
    }

    /// <summary>A client may have had so many under way when it heard of the first.</summary>
    [Theory]
    [InlineData(100, 100)]
    [InlineData(1, 400)]
    public async Task However_many_streams_came_after_it(int resets, int requests)
    {
        Http2Wire client = await OpenAsync();
        for (int i = 0; i < requests; i++)
        {
            int streamId = (2 * i) + 1;
            bool isBad = i < resets;
            await client.SendAsync(isBad
                ? Frame.Headers(streamId, Block.Of((":method", "GET")), FrameFlags.EndHeaders)
                : Frame.Headers(streamId, Block.Get(Small)));
            Assert.Equal(isBad ? Http2Error.ProtocolError : null, (await client.ReadAsync(streamId)).Reset);
        }

        for (int streamId = 1; streamId < 2 * resets; streamId += 2)
        {
            await client.SendAsync(
                Frame.WindowUpdate(streamId, 1), Frame.Headers(streamId, Block.Of(("a", "b"))), Frame.Reset(streamId));
        }

        // Nothing of it is answered, and the table has taken what the last block had for it: index 62.
        await client.SendAsync(Frame.Headers(1, Block.Indexed("range", "bytes=0-0")), Frame.Headers(1001, [.. Block.Get(Small), 0x80 | 62]));
        Assert.Equal(FrameType.Headers, (await client.ReadFrameAsync()).Type);
    }

    [Fact]
    public async Task What_comes_for_one_that_was_reset_long_ago_counts_for_the_connections_window()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Of((":method", "GET")), FrameFlags.EndHeaders));
        Assert.Equal(Http2Error.ProtocolError, (await client.ReadAsync(1)).Reset);
        for (int streamId = 3; streamId < 600; streamId += 2)
        {
            (await client.GetAsync(streamId, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        }

        await client.SendAsync([.. Enumerable.Repeat(Frame.Data(1, new byte[10_000], FrameFlags.None), 4)]);
        Frame update = await client.ReadFrameAsync();

        Assert.Equal((FrameType.WindowUpdate, 0, 40_000), (update.Type, update.StreamId, update.Number));
    }

    [Fact]
    public Task A_request_on_an_even_stream_is_an_error_of_the_connection() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Headers(2, Block.Get(Small)));

    [Fact]
    public async Task Numbers_of_streams_only_grow()
    {
        Http2Wire client = await OpenAsync();
        (await client.GetAsync(5, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        await client.SendAsync(Frame.Headers(3, Block.Get(Small)));

        await client.AssertFailsAsync(Http2Error.ProtocolError);
    }

    [Fact]
    public async Task A_number_that_was_passed_over_is_not_taken_for_one_that_was_used()
    {
        Http2Wire client = await OpenAsync();
        foreach (int streamId in (int[])[1, 7, 9])
        {
            (await client.GetAsync(streamId, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        }

        Http2Wire other = await Http2Wire.OpenAsync(Site);
        (await other.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        (await other.GetAsync(7, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        await client.SendAsync(Frame.Headers(5, Block.Get(Small)));
        await other.SendAsync(Frame.Headers(1, Block.Get(Small)));

        await client.AssertFailsAsync(Http2Error.ProtocolError);
        await other.AssertFailsAsync(Http2Error.StreamClosed);
    }

    [Fact]
    public async Task Streams_beyond_the_limit_are_refused_and_the_others_go_on()
    {
        Http2Wire client = await OpenAsync(new HttpServerLimits { Http2 = new Http2Limits { StreamsMax = 3 } }, opensWindows: false);
        foreach (int streamId in (int[])[1, 3, 5])
        {
            await client.SendAsync(Frame.Headers(streamId, Block.Get(Large)));
        }

        await client.SendAsync(Frame.Headers(7, [.. Block.Get(Large), .. Block.Indexed("if-none-match", "*")]));
        Assert.Equal(Http2Error.RefusedStream, (await client.ReadAsync(7)).Reset);
        await client.SendAsync(Frame.WindowUpdate(0, 4 * LargeBytes));
        foreach (int streamId in (int[])[1, 3, 5])
        {
            await client.SendAsync(Frame.WindowUpdate(streamId, LargeBytes));
            (await client.ReadResponseAsync(streamId)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
        }

        // What was refused has changed the table nevertheless: its newest entry is 62.
        await client.SendAsync(Frame.Headers(9, [.. Block.Get(Small), 0x80 | 62]));
        Assert.Equal(304, (await client.ReadResponseAsync(9)).Status);
    }
}
