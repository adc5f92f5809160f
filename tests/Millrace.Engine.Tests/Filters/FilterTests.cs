using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Filters;

/// <summary>Filters alone and chained: the handler sees plain bytes, the peer encoded ones.</summary>
public class FilterTests : EngineTest
{
    [Fact]
    public async Task A_filter_rewrites_both_directions_and_has_the_last_word()
    {
        var filters = new List<XorFilter>();
        Listener listener = await ServeAsync(Handlers.EchoAsync, filters: _ =>
        {
            filters.Add(new XorFilter());
            return [filters[^1]];
        });
        Client client = await ConnectAsync(listener);
        byte[] sent = Pattern.Make(1, 500_000);
        Task send = client.SendAsync(sent.Select(static b => (byte)(b ^ XorFilter.Mask)).ToArray());
        byte[] back = await client.ReceiveAsync(sent.Length);
        await send;
        Pattern.Check(1, back.Select(static b => (byte)(b ^ XorFilter.Mask)).ToArray());
        client.EndSending();
        Assert.Equal("bye"u8.ToArray(), await client.ReceiveToEndAsync());
        await Waiting.UntilAsync(() => Reactor.Connections.Count == 0, "the slot was returned");
        Assert.True(Assert.Single(filters).IsReleased);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(1_000)]
    public async Task Chained_filters_apply_from_the_socket_inwards(int piece)
    {
        string preface = "";
        Listener listener = await ServeAsync(Handlers.EchoAsync, filters: _ => [new PrefaceFilter(line => preface = line), new XorFilter()]);
        Client client = await ConnectAsync(listener);
        byte[] all = [.. "PROXY me\n"u8, .. "hello"u8.ToArray().Select(static b => (byte)(b ^ XorFilter.Mask))];
        for (int at = 0; at < all.Length; at += piece)
        {
            await client.SendAsync(all.AsMemory(at, Math.Min(piece, all.Length - at)));
        }

        byte[] back = await client.ReceiveAsync(5);
        Assert.Equal("hello"u8.ToArray(), back.Select(static b => (byte)(b ^ XorFilter.Mask)).ToArray());
        Assert.Equal("PROXY me", preface);
    }

    [Fact]
    public async Task A_filter_can_tell_a_cut_stream_from_a_whole_one()
    {
        var outcome = new TaskCompletionSource<ReadOutcome>();
        Listener listener = await ServeAsync(
            async connection => outcome.SetResult(await connection.ReadAsync()),
            filters: static _ => [new PrefaceFilter(static _ => { })]);
        Client client = await ConnectAsync(listener);
        await client.SendAsync("PRO");
        client.EndSending();
        Assert.Equal(ReadOutcome.Reset, await outcome.Task.Within());
    }
}
