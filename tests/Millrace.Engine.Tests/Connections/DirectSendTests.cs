using System.Buffers;
using Millrace.Engine.Filters;
using Millrace.Engine.Tests.Filters;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Connections;

/// <summary>Sends of other threads, which the reactor lends the socket to.</summary>
public class DirectSendTests
{
    private static readonly byte[] Response = Pattern.Make(5, 5_000);

    [Fact]
    public async Task Who_writes_elsewhere_sends_by_himself()
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7);
        Assert.Equal(Response.Length, await served.SendDirectAsync(new(Response)));
        Submission sent = await script.Kernel.ExpectAsync("send now");
        Assert.Equal(7, sent.Socket);
        Assert.Equal(Response, sent.Bytes);
        Assert.True(script.Kernel.IsQuiet);
    }

    [Fact]
    public async Task Many_parts_go_out_in_order()
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7);
        Assert.Equal(Response.Length, await served.SendDirectAsync(Part.Chain(Response.Chunk(100))));
        var sent = new List<byte>();
        while (sent.Count < Response.Length)
        {
            sent.AddRange((await script.Kernel.ExpectAsync("send now")).Bytes);
        }

        Assert.Equal(Response, sent);
    }

    [Theory]
    [InlineData(1_000, 1_000)]
    [InlineData(-Errno.EAGAIN, 0)]
    [InlineData(-Errno.EPIPE, 0)]
    public async Task What_does_not_go_is_left_to_be_sent_at_home(int result, long expected)
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7);
        script.Kernel.Calls.Enqueue(result);
        script.Kernel.Calls.Enqueue(-Errno.EAGAIN);
        Assert.Equal(expected, await served.SendDirectAsync(new(Response)));
    }

    /// <summary>The kernel tells once what broke a connection: to who sends, here, and to the reactor that it has ended.</summary>
    [Theory]
    [InlineData(Errno.ETIMEDOUT, true)]
    [InlineData(Errno.ECONNRESET, false)]
    public async Task What_breaks_the_connection_is_known_at_home_when_another_thread_was_told(int errno, bool isFault)
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7);
        script.Kernel.Calls.Enqueue(-errno);
        Assert.Equal(0, await served.SendDirectAsync(new(Response)));
        await script.Kernel.ExpectAsync("send now");

        Task<ReadOutcome> read = await served.BeginReadAsync();
        script.Kernel.Complete(served.Receive, 0);
        Assert.Equal(ReadOutcome.Reset, await read.Within());
        Assert.Equal(isFault ? Errno.Describe(-errno) : null, served.Fault);
    }

    [Theory]
    [InlineData(true, ReadOutcome.Reset)]
    [InlineData(false, ReadOutcome.End)]
    public async Task An_end_while_another_thread_has_the_socket_is_a_reset_where_the_connection_is_gone(bool isOver, ReadOutcome outcome)
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7);
        script.Kernel.Gate.Reset();
        Task<long> sending = served.SendDirectAsync(new(Response));
        await script.Kernel.ExpectAsync("send now");

        // Who sends was told of it, and has not come back with it.
        script.Kernel.Over = isOver;
        Task<ReadOutcome> read = await served.BeginReadAsync();
        script.Kernel.Complete(served.Receive, 0);
        Assert.Equal(outcome, await read.Within());

        script.Kernel.Gate.Set();
        await sending.Within();
    }

    [Fact]
    public async Task What_broke_the_connection_is_known_also_to_a_send_at_home()
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7);
        script.Kernel.Calls.Enqueue(-Errno.ETIMEDOUT);
        Assert.Equal(0, await served.SendDirectAsync(new(Response)));
        await script.Kernel.ExpectAsync("send now");

        Task<FlushOutcome> flush = await served.BeginFlushAsync(Response);
        script.Kernel.Complete(await script.Kernel.ExpectAsync("send"), -Errno.EPIPE);
        Assert.Equal(FlushOutcome.Closed, await flush.Within());
        Assert.Equal(Errno.Describe(-Errno.ETIMEDOUT), served.Fault);
    }

    [Fact]
    public async Task Memory_that_cannot_be_pinned_does_not_keep_the_socket()
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7);
        await Assert.ThrowsAsync<NotSupportedException>(() => served.SendDirectAsync(new(new Unpinnable().Memory)));
        Assert.Equal(Response.Length, await served.SendDirectAsync(new(Response)));
        await script.Kernel.ExpectAsync("send now");
        await served.AbortAsync();
        script.Kernel.Complete(await script.Kernel.ExpectAsync("cancel"), -Errno.ECANCELED);
        await script.Kernel.ExpectAsync("reset");
        await script.Kernel.ExpectAsync("close");
    }

    [Fact]
    public async Task Empty_parts_are_passed_over()
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7);
        Assert.Equal(Response.Length, await served.SendDirectAsync(Part.Chain([[], Response[..100], [], [], Response[100..], []])));
        Assert.Equal(Response, (await script.Kernel.ExpectAsync("send now")).Bytes);
        Assert.Equal(0, await served.SendDirectAsync(Part.Chain([[], []])));
        Assert.True(script.Kernel.IsQuiet);
    }

    /// <summary>They have to see the bytes first, and are the reactor's own.</summary>
    [Fact]
    public async Task Where_there_are_filters_nothing_is_lent()
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7, static _ => [new XorFilter()]);
        Assert.Equal(0, await served.SendDirectAsync(new(Response)));
        Assert.True(script.Kernel.IsQuiet);
    }

    /// <summary>The number of a descriptor that is closed is the next connection's: its peer would be sent this one's bytes.</summary>
    [Fact]
    public async Task A_socket_that_is_lent_is_closed_when_it_is_given_back()
    {
        await using Script script = await Script.StartAsync();
        await using Served served = await Served.ConnectAsync(script, 7);
        script.Kernel.Gate.Reset();
        Task<long> sending = served.SendDirectAsync(new(Response));
        await script.Kernel.ExpectAsync("send now");

        await served.AbortAsync();
        Submission cancelled = await script.Kernel.ExpectAsync("cancel");
        script.Kernel.Complete(cancelled, -Errno.ECANCELED);
        Assert.Equal(1, await script.ConnectionsAsync());
        Assert.True(script.Kernel.IsQuiet);

        script.Kernel.Gate.Set();
        Assert.Equal(Response.Length, await sending.Within());
        await script.Kernel.ExpectAsync("reset");
        await script.Kernel.ExpectAsync("close");

        Assert.Equal(0, await served.SendDirectAsync(new(Response)));
        Assert.True(script.Kernel.IsQuiet);
    }

    [Fact]
    public async Task The_slots_next_socket_can_be_lent_again()
    {
        await using Script script = await Script.StartAsync();
        await using (Served first = await Served.ConnectAsync(script, 7))
        {
            await first.AbortAsync();
            script.Kernel.Complete(await script.Kernel.ExpectAsync("cancel"), -Errno.ECANCELED);
            await script.Kernel.ExpectAsync("reset");
            await script.Kernel.ExpectAsync("close");
        }

        Assert.Equal(0, await script.ConnectionsAsync());
        await using Served second = await Served.ConnectAsync(script, 8);
        Assert.Equal(Response.Length, await second.SendDirectAsync(new(Response)));
        Assert.Equal(8, (await script.Kernel.ExpectAsync("send now")).Socket);
    }

    /// <summary>A connection whose handler does nothing by itself, until this is disposed.</summary>
    private sealed class Served(Script script) : IAsyncDisposable
    {
        private readonly TaskCompletionSource _stay = new();
        private Connection _connection = null!;

        /// <summary>That is armed.</summary>
        public Submission Receive { get; private set; } = null!;

        public string? Fault => _connection.Ending.Fault;

        public static async Task<Served> ConnectAsync(
            Script script, int socket, Func<Connection, IReadOnlyList<ConnectionFilter>>? filters = null)
        {
            var served = new Served(script);
            served.Receive = await script.ConnectAsync(socket, served.StayAsync, filters);
            return served;
        }

        public Task<long> SendDirectAsync(ReadOnlySequence<byte> bytes) =>
            Task.Run(() => _connection.DirectSender.Send(bytes)).Within();

        public Task<Task<ReadOutcome>> BeginReadAsync() => script.Reactor.AskAsync(() => _connection.ReadAsync().AsTask());

        public Task<Task<FlushOutcome>> BeginFlushAsync(byte[] bytes) => script.Reactor.AskAsync(() =>
        {
            _connection.Write(bytes);
            return _connection.FlushAsync().AsTask();
        });

        public Task AbortAsync() => script.Reactor.PostAsync(() => _connection.Abort()).Within();

        public ValueTask DisposeAsync()
        {
            _stay.TrySetResult();
            return default;
        }

        private Task StayAsync(Connection connection)
        {
            _connection = connection;
            return _stay.Task;
        }
    }

    private sealed class Unpinnable : MemoryManager<byte>
    {
        public override Span<byte> GetSpan() => new byte[10];

        public override MemoryHandle Pin(int elementIndex = 0) => throw new NotSupportedException();

        public override void Unpin() => throw new NotSupportedException();

        protected override void Dispose(bool disposing)
        {
        }
    }

    private sealed class Part : ReadOnlySequenceSegment<byte>
    {
        public static ReadOnlySequence<byte> Chain(IEnumerable<byte[]> pieces)
        {
            Part? first = null;
            Part? last = null;
            foreach (byte[] piece in pieces)
            {
                var next = new Part { Memory = piece, RunningIndex = last is null ? 0 : last.RunningIndex + last.Memory.Length };
                last?.Next = next;
                first ??= next;
                last = next;
            }

            return new ReadOnlySequence<byte>(first!, 0, last!, last!.Memory.Length);
        }
    }
}
