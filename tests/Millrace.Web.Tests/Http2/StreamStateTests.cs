using Millrace.Http;
using Millrace.Tests.Shared;
using Millrace.Web.Tests.Http2.Kit;
using Millrace.Web.Tests.Kit;

namespace Millrace.Web.Tests.Http2;

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
    public Task DATA_behind_the_end_of_a_request_is_STREAM_CLOSED() =>
        AssertResetsAsync(1, Http2Error.StreamClosed, Frame.Headers(1, Block.Get(Large)), Frame.Data(1, [1]));

    [Fact]
    public Task HEADERS_behind_the_end_of_a_request_are_STREAM_CLOSED() =>
        AssertResetsAsync(1, Http2Error.StreamClosed, Frame.Headers(1, Block.Get(Large)), Frame.Headers(1, Block.Get(Large)));

    [Fact]
    public async Task Behind_the_end_of_a_request_windows_and_priorities_are_taken()
    {
        Http2Wire client = await OpenAsync(opensWindows: false);
        await client.SendAsync(
            Frame.Headers(1, Block.Get(Large)), Frame.Priority(1), Frame.WindowUpdate(1, LargeBytes), Frame.WindowUpdate(0, LargeBytes));

        (await client.ReadAnswerAsync(1)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
    }

    [Fact]
    public async Task RST_STREAM_ends_an_answer_and_no_other()
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
    public async Task DATA_behind_RST_STREAM_is_STREAM_CLOSED()
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

    [Fact]
    public Task A_request_on_an_even_stream_is_an_error_of_the_connection() =>
        AssertFailsAsync(Http2Error.ProtocolError, Frame.Headers(2, Block.Get(Small)));

    [Fact]
    public async Task Numbers_of_streams_only_grow()
    {
        Http2Wire client = await OpenAsync();
        (await client.GetAsync(5, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        await client.SendAsync(Frame.Headers(3, Block.Get(Small)));

        await client.AssertFailsAsync(Http2Error.StreamClosed);
    }

    [Fact]
    public async Task Streams_beyond_the_limit_are_refused_and_the_others_go_on()
    {
        Http2Wire client = await OpenAsync(new WebLimits { Http2 = new Http2Limits { StreamsMax = 3 } }, opensWindows: false);
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
            (await client.ReadAnswerAsync(streamId)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
        }

        // What was refused has changed the table nevertheless: its newest entry is 62.
        await client.SendAsync(Frame.Headers(9, [.. Block.Get(Small), 0x80 | 62]));
        Assert.Equal(304, (await client.ReadAnswerAsync(9)).Status);
    }
}
