using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Pages of files step by step: what is sent by which call, and what the calls may come to.</summary>
public class ScriptedPagesTests
{
    private const int Bytes = 150_000;

    private readonly TaskCompletionSource<FlushOutcome> _outcome = new();

    [Fact]
    public async Task The_head_goes_before_more_and_the_pages_behind_it()
    {
        using var pages = new MappedPages(9, Bytes);
        await using Script script = await Script.StartAsync();
        Submission receive = await ConnectAsync(script, pages);
        Assert.Equal("head"u8.ToArray(), (await script.Kernel.ExpectAsync("send before more")).Bytes);
        CheckPages(await script.Kernel.ExpectAsync("send file"), 100, Bytes - 100);
        Assert.Equal("tail"u8.ToArray(), (await ExpectSentAsync(script)).Bytes);
        await ExpectSentAndEndAsync(script, receive);
    }

    [Fact]
    public async Task What_is_cut_goes_on_in_the_next_turn()
    {
        using var pages = new MappedPages(9, Bytes);
        await using Script script = await Script.StartAsync();
        script.Kernel.Calls.Enqueue(3);
        script.Kernel.Calls.Enqueue(1);
        script.Kernel.Calls.Enqueue(10_000);
        Submission receive = await ConnectAsync(script, pages);
        Assert.Equal("hea"u8.ToArray(), (await script.Kernel.ExpectAsync("send before more")).Bytes);
        Assert.Equal("d"u8.ToArray(), (await script.Kernel.ExpectAsync("send before more")).Bytes);
        CheckPages(await script.Kernel.ExpectAsync("send file"), 100, 10_000);

        // It is full: to ask again would be a call for nothing.
        script.Kernel.Complete(await script.Kernel.ExpectAsync("await room"), 4);
        CheckPages(await script.Kernel.ExpectAsync("send file"), 10_100, Bytes - 10_100);
        await ExpectSentAsync(script);
        await ExpectSentAndEndAsync(script, receive);
    }

    [Fact]
    public async Task A_full_socket_is_waited_for_and_one_that_has_no_room_after_all_is_tried_later()
    {
        using var pages = new MappedPages(9, Bytes);
        await using Script script = await Script.StartAsync();
        script.Kernel.Calls.Enqueue(4);
        script.Kernel.Calls.Enqueue(-Errno.EAGAIN);
        script.Kernel.Calls.Enqueue(-Errno.EAGAIN);
        script.Kernel.Calls.Enqueue(-Errno.EAGAIN);
        Submission receive = await ConnectAsync(script, pages);
        await script.Kernel.ExpectAsync("send before more");
        await script.Kernel.ExpectAsync("send file");
        await script.Kernel.ExpectAsync("send file");
        Submission room = await script.Kernel.ExpectAsync("await room");
        Assert.Equal(7, room.Socket);
        script.Kernel.Complete(room, 4);
        await script.Kernel.ExpectAsync("send file");
        await script.ConnectionsAsync();
        Assert.True(script.Kernel.IsQuiet, "It turns in a circle.");

        script.Kernel.AdvanceClock(200);
        CheckPages(await script.Kernel.ExpectAsync("send file"), 100, Bytes - 100);
        await ExpectSentAsync(script);
        await ExpectSentAndEndAsync(script, receive);
    }

    [Theory]
    [InlineData(Errno.EINVAL)]
    [InlineData(Errno.ENOSYS)]
    [InlineData(Errno.EPERM)]
    public async Task A_kernel_that_sends_no_pages_is_given_copies(int errno)
    {
        using var pages = new MappedPages(9, Bytes);
        await using Script script = await Script.StartAsync();
        script.Kernel.Calls.Enqueue(4);
        script.Kernel.Calls.Enqueue(-errno);
        script.Kernel.Calls.Enqueue(-errno);
        Submission receive = await ConnectAsync(script, pages);
        await script.Kernel.ExpectAsync("send before more");
        await script.Kernel.ExpectAsync("send file");
        await script.Kernel.ExpectAsync("send file");
        Submission copy = await ExpectSentAsync(script);
        Assert.Equal(Bytes - 100 + 4, copy.Bytes.Length);
        Pattern.Check(9, copy.Bytes.AsSpan(0, Bytes - 100), 100);
        await ExpectSentAndEndAsync(script, receive);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_peer_that_is_gone_ends_the_flush(bool isGoneForTheHead)
    {
        using var pages = new MappedPages(9, Bytes);
        await using Script script = await Script.StartAsync();
        if (!isGoneForTheHead)
        {
            script.Kernel.Calls.Enqueue(4);
            script.Kernel.Calls.Enqueue(-Errno.EAGAIN);
        }

        script.Kernel.Calls.Enqueue(-Errno.EPIPE);
        Submission receive = await ConnectAsync(script, pages);
        Assert.Equal(FlushOutcome.Closed, await _outcome.Task.Within());
        while ((await script.Kernel.AnyAsync()).Verb != "cancel")
        {
        }

        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task A_wait_for_room_is_cancelled_at_the_end()
    {
        using var pages = new MappedPages(9, Bytes);
        await using Script script = await Script.StartAsync();
        script.Kernel.Calls.Enqueue(-Errno.EAGAIN);
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            pages.WriteTo(connection, 0, Bytes);
            ValueTask<FlushOutcome> flush = connection.FlushAsync();
            await connection.ReadAsync();
            connection.Abort();
            _outcome.SetResult(await flush);
        });
        await script.Kernel.ExpectAsync("send file");
        Submission room = await script.Kernel.ExpectAsync("await room");
        script.Kernel.Deliver(receive, "x"u8.ToArray());
        Assert.Equal(receive.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        Assert.Equal(room.Token, (await script.Kernel.ExpectAsync("cancel")).Token);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        Assert.False(_outcome.Task.IsCompleted);
        script.Kernel.Complete(room, -Errno.ECANCELED);
        Assert.Equal(FlushOutcome.Closed, await _outcome.Task.Within());
        await script.Kernel.ExpectAsync("reset");
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task Few_bytes_are_copied_and_what_is_taken_back_is_not_sent()
    {
        using var pages = new MappedPages(9, Bytes);
        await using Script script = await Script.StartAsync();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            pages.WriteTo(connection, 0, Bytes);
            connection.Retract(Bytes);
            pages.WriteTo(connection, 7, 1_000);
            _outcome.SetResult(await connection.FlushAsync());
        });
        Submission send = await ExpectSentAsync(script);
        Assert.Equal(1_000, send.Bytes.Length);
        Pattern.Check(9, send.Bytes, 7);
        await ExpectSentAndEndAsync(script, receive);
    }

    private Task<Submission> ConnectAsync(Script script, MappedPages pages) => script.ConnectAsync(7, async connection =>
    {
        connection.Write("head"u8);
        pages.WriteTo(connection, 100, Bytes - 100);
        connection.Write("tail"u8);
        _outcome.SetResult(await connection.FlushAsync());
    });

    private static void CheckPages(Submission call, int first, int bytes)
    {
        Assert.Equal(bytes, call.Bytes.Length);
        Pattern.Check(9, call.Bytes, first);
    }

    private static async Task<Submission> ExpectSentAsync(Script script)
    {
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Complete(send, send.Bytes.Length);
        return send;
    }

    private async Task ExpectSentAndEndAsync(Script script, Submission receive)
    {
        Assert.Equal(FlushOutcome.Sent, await _outcome.Task.Within());
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }
}
