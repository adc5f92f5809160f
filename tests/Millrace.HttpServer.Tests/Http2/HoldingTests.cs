using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Http2;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>What a client can have a server hold, and for how long.</summary>
public class HoldingTests : Http2Test
{
    private const int HugeBytes = 4 * 1024 * 1024;
    private const uint Window = 8 * HugeBytes;

    private static readonly TimeSpan Short = TimeSpan.FromMilliseconds(200);

    [Fact]
    public async Task A_window_that_is_taken_back_leaves_no_chunk_behind()
    {
        Folder.AddSized(HugeBytes);
        RunningSite site = await StartAsync(
            limits: new HttpServerLimits { UnsentBytesMax = 16 * 1024 }, engine: new EngineOptions { Reactors = 1 });
        Http2Wire client = await Http2Wire.OpenAsync(site, opensWindows: false, 4096, (SettingId.InitialWindowSize, Window));
        await client.SendAsync(Frame.WindowUpdate(0, Window));
        string target = SiteFolder.Target(HugeBytes);
        await client.SendAsync(Frame.Headers(1, Block.Get(target, "priority: i")), Frame.Headers(3, Block.Get(target, "priority: i")));

        // The kernel's buffers are full, and chunks of both files are read ahead.
        long before = 0;
        for (long now; (now = LentBytes(site)) != before || now == 0; before = now)
        {
            await Task.Delay(100, TestContext.Current.CancellationToken);
        }

        // What is on its way to the client is all that it may have now.
        await client.SendAsync(Frame.Settings((SettingId.InitialWindowSize, 0u)));
        await client.SettleAsync();
        Assert.InRange(client.Of(1).Body.Length + client.Of(3).Body.Length, 1, (2 * HugeBytes) - 1);
        long deadline = Environment.TickCount64 + 10_000;
        while (LentBytes(site) > 64 * 1024 && Environment.TickCount64 < deadline)
        {
            await client.SettleAsync();
        }

        Assert.InRange(LentBytes(site), 0, 64 * 1024);
        await client.SendAsync(Frame.WindowUpdate(1, Window), Frame.WindowUpdate(3, Window));
        (await client.ReadResponseAsync(1)).AssertIsWhole(SiteFolder.Bytes(HugeBytes));
        (await client.ReadResponseAsync(3)).AssertIsWhole(SiteFolder.Bytes(HugeBytes));
    }

    /// <summary>The input is paused for the heads, and the socket takes them before the wait for that begins.</summary>
    [Fact]
    public async Task A_client_whose_socket_takes_all_at_once_is_listened_to_again()
    {
        Folder.AddSized(1000);
        RunningSite site = await StartAsync(
            site: static options => options with { Fields = [new FieldRule("*", "X-Long", new string('x', 1_500))] },
            limits: new HttpServerLimits { UnsentBytesMax = 32 * 1024 });
        Wire wire = await site.ConnectStagedAsync(0);
        Http2Wire client = await Http2Wire.OpenOnAsync(wire, opensWindows: false, (SettingId.InitialWindowSize, 0u));
        int[] ids = [.. Enumerable.Range(0, 60).Select(static i => 1 + (2 * i))];
        await client.SendAsync([.. ids.Select(static id => Frame.Headers(id, Block.Get(Small)))]);
        await client.SettleAsync();
        await client.SendAsync([.. ids.Select(static id => Frame.WindowUpdate(id, 1_000))]);
        foreach (int id in ids)
        {
            (await client.ReadResponseAsync(id)).AssertIsWhole(SiteFolder.Bytes(1000));
        }
    }

    [Fact]
    public async Task Streams_that_are_given_up_give_back_what_was_read_ahead_for_them()
    {
        Http2Wire client = await OpenAsync(opensWindows: false);
        int streamId = 1;
        for (int round = 0; round < 3; round++, streamId += 10)
        {
            // As many as a first window's worth may be read ahead for; one takes all of the window.
            int[] ids = [.. Enumerable.Range(0, 4).Select(i => streamId + (2 * i))];
            await client.SendAsync([.. ids.Select(static id => Frame.Headers(id, Block.Get(Large)))]);
            while (ids.Sum(id => client.Of(id).Body.Length) < 65_535 || !ids.All(id => client.Of(id).HasHead))
            {
                await client.TakeAsync(await client.ReadFrameAsync());
            }

            await client.SendAsync([.. ids.Select(static id => Frame.Reset(id)), Frame.WindowUpdate(0, 65_535)]);
        }

        await client.SendAsync(
            Frame.Headers(streamId, Block.Get(Large)), Frame.WindowUpdate(0, LargeBytes), Frame.WindowUpdate(streamId, LargeBytes));
        (await client.ReadResponseAsync(streamId)).AssertIsWhole(SiteFolder.Bytes(LargeBytes));
    }

    /// <summary>At one look it waits for its own window, at the next for the connection's.</summary>
    [Fact]
    public async Task Windows_that_are_closed_by_turns_are_no_progress()
    {
        Folder.AddSized(LargeBytes);
        RunningSite site = await StartAsync(engine: new EngineOptions { Reactors = 1, Limits = new Limits { WriteStall = Short } });
        Http2Wire client = await Http2Wire.OpenAsync(site, opensWindows: false, 0, (SettingId.InitialWindowSize, 0u));
        await client.SendAsync(
            Frame.Headers(1, Block.Get(Large)),
            Frame.WindowUpdate(1, 65_534),
            Frame.Headers(3, Block.Get(Large)),
            Frame.WindowUpdate(3, 2));
        while (client.Of(1).Body.Length + client.Of(3).Body.Length < 65_535)
        {
            await client.TakeAsync(await client.ReadFrameAsync());
        }

        await client.SendAsync(Frame.Reset(1));
        Task<bool> end = EndsAsync(client);
        for (int iteration = 0; !end.IsCompleted; iteration++)
        {
            await client.SendAsync(Frame.WindowUpdate(iteration % 2 == 0 ? 0 : 3, 2));
            await Task.WhenAny(end, Task.Delay(80, TestContext.Current.CancellationToken));
        }

        Assert.True(await end);
    }

    [Fact]
    public async Task Who_sends_without_a_pause_has_deadlines_too()
    {
        Folder.AddSized(LargeBytes);
        RunningSite site = await StartAsync(
            limits: new HttpServerLimits { Http2 = new Http2Limits { OverheadFramesMax = int.MaxValue } },
            engine: new EngineOptions { Reactors = 1, Limits = new Limits { WriteStall = Short } });
        Http2Wire client = await Http2Wire.OpenAsync(site, opensWindows: false, 0, (SettingId.InitialWindowSize, 0u));
        await client.SendAsync(Frame.Headers(1, Block.Get(Large)));
        byte[] flood = [.. Enumerable.Repeat(Frame.Bytes((FrameType)0x77, 0, 0), 50_000).SelectMany(static one => one)];
        Task<Exchange> reset = client.ReadAsync(1);
        while (!reset.IsCompleted)
        {
            await client.Wire.SendAsync(flood);
        }

        Assert.Equal(Http2Error.Cancel, (await reset).Reset);
    }

    [Fact]
    public void A_field_block_holds_what_has_come_and_not_what_may()
    {
        var block = default(FieldBlockBuffer);
        block.Begin();
        Assert.True(block.TryAdd([1, 2, 3], 64 * 1024, 3));
        Assert.InRange(block.HeldBytes, 3, 64);
        Assert.True(block.TryAdd(new byte[1000], 64 * 1024, 3));
        Assert.InRange(block.HeldBytes, 1003, 2048);
        Assert.Equal([1, 2, 3, 0], block.Bytes[..4].ToArray());
        Assert.Equal(1003, block.Bytes.Length);
        Assert.False(block.TryAdd(new byte[64 * 1024], 64 * 1024, 3));
        Assert.True(block.TryAdd([], 64 * 1024, 3));
        Assert.False(block.TryAdd([], 64 * 1024, 3));
        block.Return();
        Assert.Equal(0, block.HeldBytes);
    }

    /// <summary>RFC 9113, section 5.1: it was under way when the stream ended.</summary>
    [Fact]
    public async Task DATA_for_a_stream_that_the_server_has_reset_is_not_answered()
    {
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Of((":method", "GET")), FrameFlags.EndHeaders), Frame.Data(1, new byte[100]));
        await client.SettleAsync();

        Assert.Equal(Http2Error.ProtocolError, client.Of(1).Reset);
    }

    /// <summary>RFC 9113, section 5.3.2: what depends on what is nobody's affair any more.</summary>
    [Fact]
    public Task A_stream_that_depends_on_itself_is_no_error() => AssertIgnoresAsync(
        Frame.Priority(1, dependsOn: 1),
        Frame.Headers(
            1,
            [.. Frame.Number32(1), 15, .. Block.Get(Small)],
            FrameFlags.EndHeaders | FrameFlags.EndStream | FrameFlags.Priority),
        Frame.Priority(1, dependsOn: 1));

    private static long LentBytes(RunningSite site) => site.Group.Reactors[0].Pools.LentBytes;

    /// <summary>True where the stream, or the connection, was ended for want of progress.</summary>
    private static async Task<bool> EndsAsync(Http2Wire client)
    {
        while (client.Of(3).Reset is null)
        {
            Frame frame = await client.ReadFrameAsync();
            if (frame.Type == FrameType.GoAway)
            {
                return frame.Error == Http2Error.EnhanceYourCalm;
            }

            await client.TakeAsync(frame);
        }

        return client.Of(3).Reset == Http2Error.Cancel;
    }
}
