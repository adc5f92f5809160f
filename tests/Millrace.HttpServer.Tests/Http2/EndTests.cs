using System.Diagnostics;
using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>How connections end: with the server, for want of anything to do, and for want of progress.</summary>
public class EndTests : Http2Test
{
    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(400);

    [Fact]
    public async Task A_server_that_stops_says_so_twice_and_finishes_what_it_has_begun()
    {
        Http2Wire client = await OpenAsync(
            new HttpServerLimits { Http2 = new Http2Limits { DrainNotice = TimeSpan.FromSeconds(20) } }, opensWindows: false);
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        Task stopping = Site.Group.StopAsync(TimeSpan.FromSeconds(20));
        Frame notice = await client.ReadUntilAsync(FrameType.GoAway);
        Assert.Equal((int.MaxValue, Http2Error.NoError), (notice.Number, notice.Error));

        // Sent before the notice was read, and after a response to no question of the server's.
        await client.SendAsync(Frame.Ping(new byte[8], FrameFlags.Ack), Frame.Headers(3, Block.Get(Small)));
        Frame ping = await client.ReadUntilAsync(FrameType.Ping);
        await client.SendAsync(Frame.Ping(ping.Payload, FrameFlags.Ack));
        Frame last = await client.ReadUntilAsync(FrameType.GoAway);
        Assert.Equal((3, Http2Error.NoError), (last.Number, last.Error));
        Assert.False(stopping.IsCompleted);

        // Not looked at any more.
        await client.SendAsync(Frame.Headers(5, Block.Request("POST", Small), FrameFlags.EndHeaders), Frame.Data(5, new byte[100]));
        await client.SendAsync(Frame.WindowUpdate(0, LargeBytes), Frame.WindowUpdate(1, LargeBytes));
        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
        (await client.ReadResponseAsync(3)).AssertIsWhole(SiteFolder.Bytes(1000));
        await client.Wire.AssertEndsAsync();
        Assert.False(client.Of(5).HasHead);
        Assert.Null(client.Of(5).Reset);
        client.Wire.Dispose();
        await stopping;
    }

    [Fact]
    public async Task A_client_that_does_not_response_the_notice_is_waited_for_briefly()
    {
        Http2Wire client = await OpenAsync();
        (await client.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        Task stopping = Site.Group.StopAsync(TimeSpan.FromSeconds(20));
        await client.ReadUntilAsync(FrameType.GoAway);
        Frame last = await client.ReadUntilAsync(FrameType.GoAway);
        Assert.Equal(1, last.Number);
        await client.Wire.AssertEndsAsync();
        client.Wire.Dispose();
        await stopping;
    }

    [Fact]
    public async Task An_idle_connection_is_ended_in_order()
    {
        Http2Wire client = await OpenAsync(new HttpServerLimits { KeepAlive = Short });
        long startedAt = Stopwatch.GetTimestamp();
        (await client.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        await client.AssertFailsAsync(Http2Error.NoError);
        Assert.True(Stopwatch.GetElapsedTime(startedAt) >= Short - ReactorClock.Coarseness);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_connection_with_requests_is_not_idle()
    {
        Http2Wire client = await OpenAsync(new HttpServerLimits { KeepAlive = Short }, opensWindows: false);
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)));
        await Task.Delay(3 * Short, TestContext.Current.CancellationToken);
        await client.SendAsync(Frame.WindowUpdate(0, LargeBytes), Frame.WindowUpdate(1, LargeBytes));

        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
    }

    [Fact]
    public async Task A_preface_without_settings_has_a_deadline()
    {
        var client = new Http2Wire(await (await StartAsync(limits: new HttpServerLimits { Head = Short })).ConnectAsync());
        await client.Wire.SendAsync(Http2Wire.Preface);
        await client.AssertFailsAsync(Http2Error.EnhanceYourCalm);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(8)]
    [InlineData(20)]
    public async Task A_frame_that_does_not_end_has_a_deadline(int bytes)
    {
        Http2Wire client = await OpenAsync(new HttpServerLimits { Head = Short });
        await client.Wire.SendAsync(Frame.Headers(1, Block.Get(Small)).AsMemory(0, bytes));
        await client.AssertFailsAsync(Http2Error.EnhanceYourCalm);
    }

    [Fact]
    public async Task A_field_block_that_trickles_in_has_a_deadline()
    {
        Http2Wire client = await OpenAsync(new HttpServerLimits { Head = Short });
        await client.SendAsync(Frame.Headers(1, Block.Get(Small), FrameFlags.EndStream));
        await client.AssertFailsAsync(Http2Error.EnhanceYourCalm);
    }

    [Fact]
    public async Task A_body_that_does_not_come_is_given_up()
    {
        Http2Wire client = await OpenAsync(new HttpServerLimits { ReceiveStall = Short });
        await client.SendAsync(Frame.Headers(1, Block.Request("POST", "/none"), FrameFlags.EndHeaders));
        Assert.Equal(405, (await client.ReadResponseAsync(1)).Status);
        Frame reset = await client.ReadUntilAsync(FrameType.RstStream);
        Assert.Equal((1, Http2Error.NoError), (reset.StreamId, reset.Error));
        (await client.GetAsync(3, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_stream_whose_window_stays_closed_is_reset_and_the_others_go_on()
    {
        Http2Wire client = await OpenStallingAsync(0);
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)), Frame.Headers(3, Block.Get(Large)), Frame.WindowUpdate(3, LargeBytes));
        await client.SendAsync(Frame.WindowUpdate(0, LargeBytes));

        Assert.Equal(Http2Error.Cancel, (await client.ReadAsync(1)).Reset);
        (await client.ReadResponseAsync(3)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
        Assert.Equal(304, (await client.GetAsync(5, Small, "if-none-match: *")).Status);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_window_that_opens_byte_by_byte_is_no_progress()
    {
        Http2Wire client = await OpenStallingAsync(0);
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)), Frame.WindowUpdate(0, LargeBytes));
        Task<Exchange> reset = client.ReadAsync(1);
        int sent = 0;
        for (; !reset.IsCompleted; sent++)
        {
            await client.SendAsync(Frame.WindowUpdate(1, 1));
            await Task.WhenAny(reset, Task.Delay(20, TestContext.Current.CancellationToken));
        }

        Assert.Equal(Http2Error.Cancel, (await reset).Reset);
        Assert.True(sent > 3);
    }

    /// <summary>Others' bytes are not its own: else one download would keep any number of streams open.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public async Task Nor_is_it_beside_a_download()
    {
        Http2Wire client = await OpenStallingAsync(0);
        await client.SendAsync(Frame.WindowUpdate(0, LargeBytes), Frame.Headers(1, Block.Get(Large)), Frame.Headers(3, Block.Get(Large)));
        Task<Exchange> reset = client.ReadAsync(3);
        for (int sent = 0; !reset.IsCompleted && sent < LargeBytes; sent += 2_000)
        {
            await client.SendAsync(Frame.WindowUpdate(1, 2_000), Frame.WindowUpdate(3, 1));
            await Task.WhenAny(reset, Task.Delay(20, TestContext.Current.CancellationToken));
        }

        Assert.Equal(Http2Error.Cancel, (await reset).Reset);
        Assert.False(client.Of(1).IsOver);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_connection_whose_window_stays_closed_is_ended()
    {
        Http2Wire client = await OpenStallingAsync(1 << 20);
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)));
        await client.AssertFailsAsync(Http2Error.EnhanceYourCalm);
        Assert.Equal(65_535, client.Of(1).Body.Length);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task Taking_responses_to_PINGs_is_no_progress()
    {
        Http2Wire client = await OpenStallingAsync(1 << 20);
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)));
        Task end = client.AssertFailsAsync(Http2Error.EnhanceYourCalm);
        int pings = 0;
        for (; !end.IsCompleted; pings += 10)
        {
            await client.SendAsync([.. Enumerable.Repeat(Frame.Ping(new byte[8]), 10)]);
            await Task.WhenAny(end, Task.Delay(20, TestContext.Current.CancellationToken));
        }

        await end;

        // Beyond the limit on them it would be the same error.
        Assert.InRange(pings, 20, new Http2Limits().OverheadFramesMax - 1);
    }

    /// <summary>It is opened when its data has come, which waits after more than a client of this speed takes in that time.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_streams_window_may_stay_closed_while_its_data_is_on_its_way()
    {
        Http2Wire client = await OpenSlowAsync(opensWindows: true, window: 400);
        await client.SendAsync(
            Frame.WindowUpdate(0, LargeBytes), Frame.Headers(1, Block.Get(Large)), Frame.WindowUpdate(1, LargeBytes));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        await client.SendAsync(Frame.Headers(3, Block.Get(Small)));
        await ReadSlowlyAsync(client, 1);

        (await client.ReadResponseAsync(3)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task So_may_the_connections()
    {
        Http2Wire client = await OpenSlowAsync(opensWindows: false, window: LargeBytes);
        await client.SendAsync(Frame.WindowUpdate(0, LargeBytes - 65_535), Frame.Headers(1, Block.Get(Large)));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        await client.SendAsync(Frame.Headers(3, Block.Get(Large)));
        await ReadSlowlyAsync(client, 1);
        await client.SendAsync(Frame.WindowUpdate(0, LargeBytes));

        (await client.ReadResponseAsync(3)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
    }

    [Fact]
    public async Task A_client_that_is_reset_leaves_nothing_behind()
    {
        for (int i = 0; i < 10; i++)
        {
            Http2Wire client = i == 0 ? await OpenAsync(opensWindows: false) : await Http2Wire.OpenAsync(Site, false);
            await client.SendAsync(Frame.Headers(1, Block.Get(Large)), Frame.Headers(3, Block.Get(Small)));
            client.Wire.Reset();
        }
    }

    [Fact]
    public async Task A_connection_beyond_a_limit_learns_that_nothing_of_it_was_processed()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync(engine: new EngineOptions { Reactors = 1, Limits = new Limits { Connections = 1 } });
        Http2Wire first = await Http2Wire.OpenAsync(site);
        var second = new Http2Wire(await site.ConnectAsync());
        await second.Wire.SendAsync(Http2Wire.Preface);
        await second.SendAsync(Frame.Settings(), Frame.Headers(1, Block.Get(Small)));
        Frame end = await second.ReadUntilAsync(FrameType.GoAway);

        Assert.Equal((0, Http2Error.NoError), (end.Number, end.Error));
        (await first.GetAsync(1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        Assert.NotEmpty(site.TakeWarnings());
    }

    private Task<Http2Wire> OpenStallingAsync(uint window) => OpenWatchedAsync(
        TimeSpan.FromSeconds(1), opensWindows: false, window, receiveBufferBytes: 0);

    /// <summary>A client whose responses wait in the output.</summary>
    private Task<Http2Wire> OpenSlowAsync(bool opensWindows, uint window) =>
        OpenWatchedAsync(TimeSpan.FromSeconds(1), opensWindows, window, receiveBufferBytes: 4096);

    private async Task<Http2Wire> OpenWatchedAsync(TimeSpan stall, bool opensWindows, uint window, int receiveBufferBytes)
    {
        Folder.AddSized(1000);
        Folder.AddSized(LargeBytes);
        RunningSite site = await StartAsync(
            limits: new HttpServerLimits { UnsentBytesMax = 2 * LargeBytes },
            engine: new EngineOptions { Reactors = 1, Limits = new Limits { WriteStall = stall } });
        return await Http2Wire.OpenAsync(site, opensWindows, receiveBufferBytes, (SettingId.InitialWindowSize, window));
    }

    /// <summary>Reads a large answer, without silence, in more than twice the time that a closed window has.</summary>
    private static async Task ReadSlowlyAsync(Http2Wire client, int streamId)
    {
        while (!client.Of(streamId).IsOver)
        {
            await client.TakeAsync(await client.ReadFrameAsync());
            // Sleeps: the kernel's window is what the client opens slowly.
            await Task.Delay(200, TestContext.Current.CancellationToken);
        }

        client.Of(streamId).ToResponse().AssertIsWhole(SiteFolder.Bytes(LargeBytes));
    }
}
