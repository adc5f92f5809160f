using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>The end of connections whose peers have said that they send nothing more.</summary>
public class LastRequestTests
{
    private static readonly byte[] Request = [1, 2, 3];
    private static readonly byte[] Response = Pattern.Make(5, 5_000);

    [Fact]
    public async Task The_answer_goes_with_the_end_and_nothing_is_waited_for()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, ResponseLastAsync);
        script.Kernel.Deliver(receive, Request, CompletionFlags.None);
        Submission sent = await script.Kernel.AnyAsync();
        Assert.Equal(("send before more", 7), (sent.Verb, sent.Socket));
        Assert.Equal(Response, sent.Bytes);
        await script.ExpectClosedAsync(7);
        Assert.True(script.Kernel.IsQuiet);
    }

    [Theory]
    [InlineData(1_000)]
    [InlineData(-Errno.EAGAIN)]
    [InlineData(-Errno.ENOBUFS)]
    public async Task What_does_not_go_at_once_is_sent_before_the_end(int result)
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Calls.Enqueue(result);
        Submission receive = await script.ConnectAsync(7, ResponseLastAsync);
        script.Kernel.Deliver(receive, Request, CompletionFlags.None);
        await script.Kernel.ExpectAsync("send before more");
        Submission send = await script.Kernel.ExpectAsync("send");
        Assert.Equal(Response[Math.Max(result, 0)..], send.Bytes);
        Assert.True(script.Kernel.IsQuiet);
        script.Kernel.Complete(send, send.Bytes.Length);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task A_receive_that_goes_on_is_taken_back_before_the_end()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, ResponseLastAsync);
        script.Kernel.Deliver(receive, Request);
        script.Kernel.Complete(await script.Kernel.ExpectAsync("send"), Response.Length);
        Assert.Equal(receive.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.ExpectClosedAsync(7);
    }

    /// <summary>A close with bytes unread is a reset, which may overtake the answer.</summary>
    [Fact]
    public async Task Who_has_sent_more_all_the_same_is_lingered_for()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, ResponseLastAsync);
        script.Kernel.Deliver(receive, [.. Request, 4], CompletionFlags.None);
        receive = await script.Kernel.ExpectAsync("receive");
        script.Kernel.Complete(await script.Kernel.ExpectAsync("send"), Response.Length);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task Who_sends_while_the_answer_goes_out_is_lingered_for()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, ResponseLastAsync);
        script.Kernel.Deliver(receive, Request);
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Deliver(receive, [4]);
        script.Kernel.Complete(send, Response.Length);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    /// <summary>When the process has ended, its network may be gone with what the kernel still had to send.</summary>
    [Fact]
    public async Task While_the_group_stops_the_answer_is_seen_to_arrive()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, ResponseLastAsync);
        Task stop = script.Reactor.StopAsync(EngineTest.Patience);
        await script.ConnectionsAsync();
        script.Kernel.Deliver(receive, Request, CompletionFlags.None);
        script.Kernel.Complete(await script.Kernel.ExpectAsync("send"), Response.Length);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(await script.Kernel.ExpectAsync("receive"), 0);
        await script.Kernel.ExpectAsync("close");
        await stop.Within();
    }

    [Fact]
    public async Task Where_sends_are_to_be_made_without_a_copy_this_one_is()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.ZeroCopyFrom = Response.Length;
        script.Kernel.Deliver(await script.ConnectAsync(7, ResponseLastAsync), Request, CompletionFlags.None);
        script.Kernel.Complete(await script.Kernel.ExpectAsync("zero-copy send"), Response.Length);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task The_next_peer_of_the_slot_is_not_taken_for_one()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Deliver(await script.ConnectAsync(7, ResponseLastAsync), Request, CompletionFlags.None);
        await script.Kernel.ExpectAsync("send before more");
        await script.ExpectClosedAsync(7);

        Submission receive = await script.ConnectAsync(8, static connection => Task.CompletedTask);
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(8);
    }

    private static async Task ResponseLastAsync(Connection connection)
    {
        await connection.ReadAsync();
        connection.Ending.NoteLastRequest();
        connection.Consume(Request.Length);
        connection.Write(Response);
    }
}
