using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>What costs a server and brings nobody anything is too much of it, and those who mean well are not taken for such.</summary>
public class FloodTests : Http2Test
{
    private static readonly HttpServerLimits Tight = new()
    {
        Http2 = new Http2Limits { OverheadFramesMax = 50, OverheadFramesPerSecond = 1, ResetsMax = 20, ResetsPerSecond = 1 },
    };

    [Fact]
    public Task Requests_that_are_reset_at_once_are_too_much() => AssertTooMuchAsync(
        static i => [.. Frame.Headers((2 * i) + 1, Block.Get(Large)), .. Frame.Reset((2 * i) + 1)]);

    [Fact]
    public Task Faults_that_make_the_server_reset_are_too_much() => AssertTooMuchAsync(
        static i => [.. Frame.Headers((2 * i) + 1, Block.Get(Large)), .. Frame.WindowUpdate((2 * i) + 1, 0)]);

    [Fact]
    public Task Malformed_requests_are_too_much() =>
        AssertTooMuchAsync(static i => Frame.Headers((2 * i) + 1, Block.Of((":method", "GET"))));

    /// <summary>One byte for each 4 KB: decoded in full these are 8 MB each.</summary>
    [Theory]
    [InlineData(2_000, 1)]
    [InlineData(50, 1)]
    [InlineData(12, 30)]
    public async Task Field_blocks_that_refer_to_a_large_entry_over_and_over_are_too_much(int references, int blocksMax)
    {
        Http2Wire client = await OpenAsync();
        byte[] repeated = [.. Enumerable.Repeat((byte)0xBE, references)];
        await client.SendAsync(Frame.Headers(1, [.. Block.Get(Small), .. Block.Indexed("x", new string('v', 3_900))]));
        Assert.Equal(200, (await client.ReadResponseAsync(1)).Status);
        for (int i = 1; i <= blocksMax; i++)
        {
            await client.SendAsync(Frame.Headers((2 * i) + 1, [.. Block.Get(Small), .. repeated]));
        }

        Frame end = await client.ReadUntilAsync(FrameType.GoAway);
        Assert.Equal(Http2Error.EnhanceYourCalm, end.Error);
    }

    [Fact]
    public async Task A_head_that_is_a_little_too_large_now_and_then_is_answered_and_no_more()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, [.. Block.Get(Small), .. Block.Indexed("x", new string('v', 3_900))]));
        Assert.Equal(200, (await client.ReadResponseAsync(1)).Status);
        byte[] tooLarge = [.. Block.Get(Small), .. Enumerable.Repeat((byte)0xBE, 9)];
        int streamId = 3;
        for (int i = 0; i < 20; i++, streamId += 4)
        {
            await client.SendAsync(Frame.Headers(streamId, tooLarge));
            Assert.Equal(431, (await client.ReadResponseAsync(streamId)).Status);
            Assert.Equal(200, (await client.GetAsync(streamId + 2, Small)).Status);
        }
    }

    [Fact]
    public Task PINGs_are_too_much() => AssertTooMuchAsync(static _ => Frame.Ping(new byte[8]));

    [Fact]
    public Task SETTINGS_are_too_much() => AssertTooMuchAsync(static _ => Frame.Settings());

    [Fact]
    public Task Acknowledgements_are_too_much() => AssertTooMuchAsync(static _ => Frame.SettingsAck());

    [Fact]
    public Task PRIORITY_is_too_much() => AssertTooMuchAsync(static i => Frame.Priority((2 * i) + 1));

    [Fact]
    public Task PRIORITY_UPDATE_is_too_much() => AssertTooMuchAsync(static i => Frame.PriorityUpdate((2 * i) + 1, "u=1"));

    [Fact]
    public Task WINDOW_UPDATE_is_too_much() => AssertTooMuchAsync(static _ => Frame.WindowUpdate(0, 1));

    [Fact]
    public Task Unknown_frames_are_too_much() => AssertTooMuchAsync(static _ => Frame.Bytes((FrameType)0x77, 0, 0));

    [Fact]
    public Task Resets_of_streams_that_are_closed_are_too_much() => AssertTooMuchAsync(
        static i => i == 0 ? Frame.Headers(1, Block.Get(Small)) : Frame.Reset(1));

    [Fact]
    public Task Empty_DATA_is_too_much() => AssertTooMuchAsync(
        static i => i == 0 ? Frame.Headers(1, Block.Request("POST", "/none"), FrameFlags.EndHeaders) : Frame.Data(1, [], FrameFlags.None));

    [Fact]
    public Task DATA_byte_by_byte_is_too_much() => AssertTooMuchAsync(
        static i => i == 0 ? Frame.Headers(1, Block.Request("POST", "/none"), FrameFlags.EndHeaders) : Frame.Data(1, [1], FrameFlags.None));

    [Fact]
    public Task DATA_of_padding_is_too_much() => AssertTooMuchAsync(
        static i => i == 0 ? Frame.Headers(1, Block.Request("POST", "/none"), FrameFlags.EndHeaders)
            : Frame.Data(1, [200, .. new byte[200]], FrameFlags.Padded));

    [Fact]
    public Task The_last_DATA_of_a_stream_that_the_server_has_reset_is_too_much_when_it_comes_again_and_again() => AssertTooMuchAsync(
        static i => i == 0 ? Frame.Headers(1, Block.Of((":method", "GET"))) : Frame.Data(1, []));

    [Fact]
    public Task HEADERS_of_a_stream_that_the_server_has_reset_are_too_much() => AssertTooMuchAsync(
        static i => Frame.Headers(1, i == 0 ? Block.Of((":method", "GET")) : Block.Get(Small)));

    [Fact]
    public Task SETTINGS_of_many_settings_are_too_much_soon() => AssertTooMuchAsync(
        static _ => Frame.Settings([.. Enumerable.Repeat((SettingId.InitialWindowSize, 1u), 200)]), times: 10);

    [Fact]
    public Task CONTINUATION_without_end_is_too_much() => AssertTooMuchAsync(
        static i => i == 0 ? Frame.Headers(1, Block.Get(Small), FrameFlags.EndStream) : Frame.Continuation(1, [], FrameFlags.None));

    [Fact]
    public async Task A_field_block_that_is_too_large_is_too_much()
    {
        Http2Wire client = await OpenAsync();
        byte[] piece = new byte[16_384];
        await client.SendAsync(
            Frame.Headers(1, piece, FrameFlags.EndStream),
            Frame.Continuation(1, piece, FrameFlags.None),
            Frame.Continuation(1, piece, FrameFlags.None),
            Frame.Continuation(1, piece, FrameFlags.None),
            Frame.Continuation(1, [0], FrameFlags.None));

        await client.AssertFailsAsync(Http2Error.EnhanceYourCalm);
    }

    [Fact]
    public async Task Those_who_are_answered_may_go_on()
    {
        Http2Wire client = await OpenAsync(Tight);
        for (int streamId = 1; streamId < 400; streamId += 2)
        {
            (await client.GetAsync(streamId, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
            await client.SettleAsync();
        }

        // Every second answer is given up.
        for (int streamId = 401; streamId < 600; streamId += 4)
        {
            await client.SendAsync(Frame.Headers(streamId, Block.Get(Large)), Frame.Reset(streamId));
            (await client.GetAsync(streamId + 2, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        }
    }

    [Fact]
    public async Task A_client_that_tells_of_each_frame_it_has_taken_may_go_on()
    {
        Folder.AddSized(4 * 1024 * 1024);
        Http2Wire client = await OpenAsync(Tight);

        (await client.GetAsync(1, SiteFolder.Target(4 * 1024 * 1024))).AssertIsWhole(SiteFolder.Bytes(4 * 1024 * 1024));
    }

    [Fact]
    public async Task A_client_that_tells_of_each_4_KiB_it_has_taken_may_go_on()
    {
        // As Go's does where it is read 4 KiB at a time; a large file, and many that are one frame each.
        const int Many = 200;
        Folder.AddSized(4 * 1024 * 1024);
        Folder.AddSized(16_000);
        Http2Wire client = await Http2Wire.OpenAsync(await StartAsync(limits: Tight));
        client.UpdateBytesMax = 4096;

        (await client.GetAsync(1, SiteFolder.Target(4 * 1024 * 1024))).AssertIsWhole(SiteFolder.Bytes(4 * 1024 * 1024));
        for (int i = 1; i <= Many; i++)
        {
            (await client.GetAsync((2 * i) + 1, SiteFolder.Target(16_000))).AssertIsWhole(SiteFolder.Bytes(16_000));
        }
    }

    [Fact]
    public async Task A_client_that_does_not_read_what_it_causes_is_not_listened_to()
    {
        var limits = new HttpServerLimits { UnsentBytesMax = 16 * 1024, Http2 = new Http2Limits { OverheadFramesMax = int.MaxValue } };
        Folder.AddSized(1000);
        RunningSite site = await StartAsync(limits: limits);
        Http2Wire client = await Http2Wire.OpenAsync(site, receiveBufferBytes: 4096);
        byte[] pings = [.. Enumerable.Repeat(Frame.Ping(new byte[8]), 10_000).SelectMany(static ping => ping)];
        using var enough = CancellationTokenSource.CreateLinkedTokenSource(TestContext.Current.CancellationToken);
        long sent = 0;
        Task sending = SendAsync();

        // Neither side's kernel holds more than some megabytes, and the server what had come before it stopped to receive.
        long before = -1;
        while (Volatile.Read(ref sent) != before)
        {
            before = Volatile.Read(ref sent);
            // Sleeps: that no more is taken shows only in time.
            await Task.Delay(300, TestContext.Current.CancellationToken);
        }

        Assert.False(sending.IsCompleted);
        Assert.InRange(site.Group.Reactors[0].Pools.LentBytes, 0, 2 * 1024 * 1024);
        await enough.CancelAsync();
        client.Wire.Reset();
        await Assert.ThrowsAnyAsync<Exception>(() => sending);

        async Task SendAsync()
        {
            while (!enough.IsCancellationRequested)
            {
                await client.Wire.SendAsync(pings);
                Volatile.Write(ref sent, sent + pings.Length);
            }

            throw new OperationCanceledException();
        }
    }

    private async Task AssertTooMuchAsync(Func<int, byte[]> frame, int times = 100)
    {
        Http2Wire client = await OpenAsync(Tight);
        await client.SendAsync([.. Enumerable.Range(0, times).SelectMany(frame)]);
        await client.AssertFailsAsync(Http2Error.EnhanceYourCalm);
    }
}
