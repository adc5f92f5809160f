using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>A file's own pages step by step: what is sent, what is left to a read, and when nobody looks at them any more.</summary>
public sealed class ScriptedFilePagesTests : IDisposable
{
    private const int Bytes = 50_000;

    private readonly TemporaryFolder _folder = new();
    private readonly FileStream _file;
    private readonly TaskCompletionSource<long> _sent = new();

    public ScriptedFilePagesTests() => _file = File.OpenRead(_folder.File("file", Pattern.Make(9, Bytes)));

    private int Descriptor => (int)_file.SafeFileHandle.DangerousGetHandle();

    public void Dispose()
    {
        _file.Dispose();
        _folder.Dispose();
    }

    [Fact]
    public async Task The_head_goes_before_more_and_the_file_behind_it()
    {
        await using Script script = await Script.StartAsync();
        Submission receive = await ConnectAsync(script);
        Assert.Equal("head"u8.ToArray(), (await script.Kernel.ExpectAsync("send before more")).Bytes);
        CheckFile(await script.Kernel.ExpectAsync("send file"), 100, Bytes - 100);
        await ExpectSentAndEndAsync(script, receive, Bytes - 100, written: 4 + Bytes - 100);
    }

    [Fact]
    public async Task What_is_at_hand_is_sent_and_the_rest_is_left_to_a_read()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Cached.Enqueue(30_000);
        script.Kernel.Cached.Enqueue(0);
        script.Kernel.Cached.Enqueue(0);
        Submission receive = await ConnectAsync(script);
        await script.Kernel.ExpectAsync("send before more");
        CheckFile(await script.Kernel.ExpectAsync("send file"), 100, 30_000);
        await ExpectSentAndEndAsync(script, receive, 30_000, written: 4 + 30_000);
    }

    [Fact]
    public async Task Where_nothing_is_at_hand_only_the_head_goes_out()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Cached.Enqueue(0);
        script.Kernel.Cached.Enqueue(0);
        Submission receive = await ConnectAsync(script);
        Assert.Equal("head"u8.ToArray(), (await script.Kernel.ExpectAsync("send before more")).Bytes);
        await ExpectSentAndEndAsync(script, receive, 0, written: 4);
    }

    [Fact]
    public async Task What_was_at_hand_just_now_is_not_looked_at_again()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Cached.Enqueue(Bytes);
        script.Kernel.Cached.Enqueue(1);
        script.Kernel.Cached.Enqueue(0);
        (Submission receive, Submission room) = await FillAsync(script);
        script.Kernel.Complete(room, 4);
        CheckFile(await script.Kernel.ExpectAsync("send file"), 10_100, Bytes - 10_100);
        await ExpectSentAndEndAsync(script, receive, Bytes - 100, written: 4 + Bytes - 100);
    }

    /// <summary>Or the file is locked by who writes to it, which sendfile would wait for.</summary>
    [Fact]
    public async Task Of_what_was_at_hand_just_now_the_first_page_is_looked_at_all_the_same()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Cached.Enqueue(Bytes);
        script.Kernel.Cached.Enqueue(0);
        (Submission receive, Submission room) = await FillAsync(script);
        script.Kernel.Complete(room, 4);
        await ExpectSentAndEndAsync(script, receive, 10_000, written: 4 + 10_000);
    }

    [Fact]
    public async Task Who_was_slow_to_take_it_has_the_file_looked_at_again()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Cached.Enqueue(Bytes);
        script.Kernel.Cached.Enqueue(0);
        (Submission receive, Submission room) = await FillAsync(script);
        script.Kernel.AdvanceClock(1_000);
        script.Kernel.Complete(room, 4);
        await ExpectSentAndEndAsync(script, receive, 10_000, written: 4 + 10_000);
    }

    /// <summary>No fault of the peer's: whoever reads the file finds out what it is.</summary>
    [Theory]
    [InlineData(0)]
    [InlineData(Errno.EINVAL)]
    [InlineData(Errno.ENOSYS)]
    [InlineData(Errno.EPERM)]
    [InlineData(Errno.EIO)]
    [InlineData(Errno.EOPNOTSUPP)]
    [InlineData(116)]
    [InlineData(117)]
    public async Task A_file_that_the_kernel_does_not_send_is_left_to_a_read(int errno)
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Calls.Enqueue(4);
        script.Kernel.Calls.Enqueue(-errno);
        script.Kernel.Calls.Enqueue(-errno);
        Submission receive = await ConnectAsync(script);
        await script.Kernel.ExpectAsync("send before more");
        await script.Kernel.ExpectAsync("send file");
        await ExpectSentAndEndAsync(script, receive, 0, written: 4);
    }

    /// <summary>The file has no place in memory that could be copied in its stead.</summary>
    [Fact]
    public async Task A_head_that_cannot_be_sent_so_ends_it()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Calls.Enqueue(-Errno.EINVAL);
        Submission receive = await ConnectAsync(script);
        await script.Kernel.ExpectAsync("send before more");
        Assert.Equal(-1, await _sent.Task.Within());
        Assert.Equal("cancel", (await script.Kernel.AnyAsync()).Verb);
        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.ExpectClosedAsync(7);
    }

    [Theory]
    [InlineData(Errno.EPIPE)]
    [InlineData(Errno.ETIMEDOUT)]
    [InlineData(Errno.EHOSTUNREACH)]
    [InlineData(Errno.ECONNRESET)]
    public async Task A_peer_that_is_gone_ends_it(int errno)
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Calls.Enqueue(4);
        script.Kernel.Calls.Enqueue(10_000);
        script.Kernel.Calls.Enqueue(-errno);
        Submission receive = await ConnectAsync(script);
        await script.Kernel.ExpectAsync("send before more");
        await script.Kernel.ExpectAsync("send file");
        script.Kernel.Complete(await script.Kernel.ExpectAsync("await room"), 4);
        Assert.Equal(-1, await _sent.Task.Within());
        while ((await script.Kernel.AnyAsync()).Verb != "cancel")
        {
        }

        script.Kernel.Complete(receive, -Errno.ECANCELED);
        await script.ExpectClosedAsync(7);
    }

    [Fact]
    public async Task Few_bytes_or_few_at_hand_are_not_begun_with()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Cached.Enqueue(1_000);
        script.Kernel.Cached.Enqueue(999);
        var taken = new TaskCompletionSource<bool[]>();
        Submission receive = await script.ConnectAsync(7, connection =>
        {
            taken.SetResult(
            [
                connection.FilePages.ShouldSendFile(Descriptor, 0, 1_000),
                connection.FilePages.ShouldSendFile(Descriptor, 0, 1_000),
                connection.FilePages.ShouldSendFile(Descriptor, 0, 999),
            ]);
            return Task.CompletedTask;
        });
        bool[] expected = [true, false, false];
        Assert.Equal(expected, await taken.Task.Within());
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }

    /// <summary>A local peer may have acknowledged pages and not read them: as many bytes after them must be acknowledged, too.</summary>
    [Fact]
    public async Task Pages_are_looked_at_until_a_whole_queue_behind_them_is_acknowledged()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Unacknowledged = 10_001;
        (Submission receive, Task<bool> outcome) = await ConnectAndAwaitAsync(script);
        script.Kernel.AdvanceClock(16);
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.False(outcome.IsCompleted, "The pages may still be in the peer's queue.");

        script.Kernel.Unacknowledged = 10_000;
        script.Kernel.AdvanceClock(100);
        Assert.True(await outcome.Within());
        await ExpectEndAsync(script, receive);
    }

    [Fact]
    public async Task A_peer_that_acknowledges_nothing_is_given_up()
    {
        await using Script script = await Script.StartAsync(new Limits { WriteStall = TimeSpan.FromSeconds(8) });
        script.Kernel.Unacknowledged = 10_001;
        (Submission receive, Task<bool> outcome) = await ConnectAndAwaitAsync(script);
        script.Kernel.AdvanceClock(4_000);
        await script.ConnectionsAsync();
        Assert.False(outcome.IsCompleted);
        script.Kernel.AdvanceClock(4_100);
        Assert.False(await outcome.Within());
        Assert.Equal(1, await script.Reactor.AskAsync(() => script.Reactor.Counters.Stalled));
        await ExpectEndAsync(script, receive);
    }

    [Fact]
    public async Task A_connection_that_breaks_is_not_waited_for()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Unacknowledged = 10_001;
        (Submission receive, Task<bool> outcome) = await ConnectAndAwaitAsync(script);
        script.Kernel.Complete(receive, -Errno.ECONNRESET);
        script.Kernel.AdvanceClock(100);
        Assert.False(await outcome.Within());
        await script.ExpectClosedAsync(7);
    }

    /// <summary>No receive need be under way that would tell.</summary>
    [Fact]
    public async Task A_connection_that_is_over_is_not_waited_for()
    {
        await using Script script = await Script.StartAsync();
        script.Kernel.Unacknowledged = 10_001;
        (Submission receive, Task<bool> outcome) = await ConnectAndAwaitAsync(script);
        script.Kernel.Over = true;
        script.Kernel.AdvanceClock(100);
        Assert.False(await outcome.Within());
        await ExpectEndAsync(script, receive);
    }

    /// <summary>Sends 1,000 bytes of the file and 30,000 after them.</summary>
    private async Task<(Submission Receive, Task<bool> Outcome)> ConnectAndAwaitAsync(Script script)
    {
        var outcome = new TaskCompletionSource<bool>();
        Submission receive = await script.ConnectAsync(7, async connection =>
        {
            Assert.Equal(1_000, await connection.FilePages.SendFileAsync(Descriptor, 0, 1_000));
            long pagesEndAt = connection.WrittenBytes;
            connection.Write(new byte[30_000]);
            await connection.FlushAsync();
            outcome.SetResult(await connection.FilePages.AcknowledgedAsync(pagesEndAt));
        });
        await script.Kernel.ExpectAsync("send file");
        Submission send = await script.Kernel.ExpectAsync("send");
        script.Kernel.Complete(send, send.Bytes.Length);
        await script.ConnectionsAsync();
        return (receive, outcome.Task);
    }

    /// <summary>Sends the head and 10,000 bytes of the file: then the socket is full, and waited for.</summary>
    private async Task<(Submission Receive, Submission Room)> FillAsync(Script script)
    {
        script.Kernel.Calls.Enqueue(4);
        script.Kernel.Calls.Enqueue(10_000);
        Submission receive = await ConnectAsync(script);
        await script.Kernel.ExpectAsync("send before more");
        CheckFile(await script.Kernel.ExpectAsync("send file"), 100, 10_000);
        return (receive, await script.Kernel.ExpectAsync("await room"));
    }

    private Task<Submission> ConnectAsync(Script script) => script.ConnectAsync(7, async connection =>
    {
        connection.Write("head"u8);
        long sent = await connection.FilePages.SendFileAsync(Descriptor, 100, Bytes - 100);
        Written = connection.WrittenBytes;
        _sent.SetResult(sent);
    });

    private long Written { get; set; }

    private static void CheckFile(Submission call, int first, int bytes)
    {
        Assert.Equal(bytes, call.Bytes.Length);
        Pattern.Check(9, call.Bytes, first);
    }

    private async Task ExpectSentAndEndAsync(Script script, Submission receive, long sent, long written)
    {
        Assert.Equal(sent, await _sent.Task.Within());
        Assert.Equal(written, Written);
        await ExpectEndAsync(script, receive);
    }

    private static async Task ExpectEndAsync(Script script, Submission receive)
    {
        await script.Kernel.ExpectAsync("shutdown");
        script.Kernel.Complete(receive, 0);
        await script.ExpectClosedAsync(7);
    }
}
