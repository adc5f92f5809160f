using System.Net;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Engine.Tests.Filters;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Connections;

/// <summary>
/// Input that the kernel moves to another connection, which may end meanwhile: nothing but the two connections ends, and nothing of the
/// first is left for the next one in its slot.
/// </summary>
public class MovedInputTests
{
    private const int Client = 7;

    [Fact]
    public async Task Input_is_moved_after_what_was_written_and_what_the_destination_does_not_take_is_input()
    {
        await using Script script = await Script.StartAsync();
        Pair pair = await Pair.StartAsync(script);
        script.Kernel.Movable.Enqueue(new byte[50_000]);
        script.Kernel.MoveRoom.Enqueue(20_000);
        pair.Receive();
        Assert.Equal(4_096, (await script.Kernel.ExpectAsync("send now")).Bytes.Length);
        Assert.Equal(20_000, (await script.Kernel.ExpectAsync("move")).Bytes.Length);
        Assert.Equal(30_000, (await script.Kernel.ExpectAsync("send now")).Bytes.Length);
        Assert.Equal(pair.SourceSocket, (await script.Kernel.ExpectAsync("receive")).Socket);
        Assert.Equal((54_096, 20_000), (await script.Reactor.AskAsync(() => pair.Source.Receiver.Bytes), pair.Relay.Moved));
        await pair.EndAsync();
    }

    [Fact]
    public async Task What_the_destination_does_not_take_of_a_frame_is_its_output()
    {
        await using Script script = await Script.StartAsync();
        Pair pair = await Pair.StartAsync(script, frameBytes: 16_384);
        script.Kernel.Movable.Enqueue(new byte[50_000]);
        script.Kernel.MoveRoom.Enqueue(10_000);
        pair.Receive();
        await script.Kernel.ExpectAsync("send now");
        Assert.Equal(9, (await script.Kernel.ExpectAsync("send before more")).Bytes.Length);
        Assert.Equal(10_000, (await script.Kernel.ExpectAsync("move")).Bytes.Length);
        Assert.Equal(6_384 + 33_616, (await script.Kernel.ExpectAsync("send now")).Bytes.Length);
        Assert.Equal(pair.SourceSocket, (await script.Kernel.ExpectAsync("receive")).Socket);
        Assert.Equal(16_384, pair.Relay.Moved);
        await pair.EndAsync();
    }

    /// <summary>Its filter fails, as TLS without memory does, at what goes before the moved bytes.</summary>
    [Fact]
    public async Task A_destination_that_fails_before_bytes_are_moved_ends_its_source_and_nothing_else()
    {
        await using Script script = await Script.StartAsync();
        Pair pair = await Pair.StartAsync(script, filters: static _ => [new CommandedFilter()]);
        script.Kernel.Movable.Enqueue(new byte[50_000]);
        script.Kernel.Deliver(pair.ClientReceive, "N"u8.ToArray());
        pair.Receive();
        await pair.ExpectEndsAsync();
        Assert.Single(script.Kernel.Movable);
        Assert.Contains(script.Log.Entries, static entry => entry.Error is InvalidDataException);
    }

    [Fact]
    public async Task A_destination_without_memory_for_the_rest_of_a_frame_ends_its_source_and_nothing_else()
    {
        await using Script script = await Script.StartAsync(new Limits { BufferBytes = 4_000_000 });
        Pair pair = await Pair.StartAsync(script, frameBytes: 16_384);
        script.Kernel.Movable.Enqueue(new byte[50_000]);
        script.Kernel.MoveRoom.Enqueue(10_000);
        var taken = new List<Block>();
        pair.Relay.Framed = () => TakeAll(script.Reactor.Pools, taken);
        pair.Receive();
        await script.Kernel.ExpectAsync("send now");
        await script.Kernel.ExpectAsync("send before more");
        await script.Kernel.ExpectAsync("move");
        await pair.ExpectEndsAsync();
        await script.Reactor.AskAsync(() => Return(script.Reactor.Pools, taken));
    }

    /// <summary>As if another thread had aborted it within the send of what goes before the moved bytes.</summary>
    [Fact]
    public async Task A_destination_that_has_ended_takes_nothing()
    {
        await using Script script = await Script.StartAsync();
        Pair pair = await Pair.StartAsync(script);
        script.Kernel.Movable.Enqueue(new byte[50_000]);
        pair.Relay.Asked = () => pair.Destination.Abort();
        pair.Receive();
        await pair.ExpectEndsAsync();
        Assert.Single(script.Kernel.Movable);
    }

    private static void TakeAll(BlockPools pools, List<Block> taken)
    {
        try
        {
            while (taken.Count < 10_000)
            {
                taken.Add(pools.Rent(BlockPools.SmallBytes));
            }
        }
        catch (InsufficientMemoryException)
        {
            // That was all.
        }
    }

    private static bool Return(BlockPools pools, List<Block> taken)
    {
        taken.ForEach(pools.Return);
        return true;
    }

    /// <summary>A connection whose input goes to another, and ends with it. The source has received what its handler sends on.</summary>
    private sealed class Pair
    {
        private readonly Script _script;
        private Submission _sourceReceive = null!;
        private Connection? _source;
        private Connection? _destination;

        private Pair(Script script, int frameBytes)
        {
            _script = script;
            Relay = new TestRelay(() => _destination!, frameBytes);
        }

        public TestRelay Relay { get; }

        public Connection Source => _source!;

        public Connection Destination => _destination!;

        public int SourceSocket => _sourceReceive.Socket;

        public Submission ClientReceive { get; private set; } = null!;

        public static async Task<Pair> StartAsync(
            Script script, int frameBytes = 0, Func<Connection, IReadOnlyList<ConnectionFilter>>? filters = null)
        {
            var pair = new Pair(script, frameBytes);
            pair.ClientReceive = await script.ConnectAsync(Client, pair.ServeAsync, filters);
            Task connect = script.Reactor.RunAsync(() =>
                script.Reactor.ConnectAsync(new IPEndPoint(IPAddress.Loopback, 1), pair.PassAsync));
            script.Kernel.Complete(await script.Kernel.ExpectAsync("connect"), 0);
            await connect;
            pair._sourceReceive = await script.Kernel.ExpectAsync("receive");
            return pair;
        }

        /// <summary>The source receives a full buffer, and there is more.</summary>
        public void Receive() => _script.Kernel.Complete(_sourceReceive, 4_096, data: new byte[4_096]);

        /// <summary>Both are over, and the slot of the source is as if it had served nobody.</summary>
        public async Task ExpectEndsAsync()
        {
            var ended = new HashSet<int>();
            while (ended.Count < 2)
            {
                Submission next = await _script.Kernel.AnyAsync();
                if (next.Verb == "cancel")
                {
                    _script.Kernel.Complete(ClientReceive, -Interop.Errno.ECANCELED);
                }
                else if (next.Verb == "close")
                {
                    Assert.True(ended.Add(next.Socket));
                }
                else
                {
                    Assert.Equal("reset", next.Verb);
                }
            }

            Assert.Equal(0, SocketCalls.Close(SourceSocket));
            Assert.Equal(0, await _script.ConnectionsAsync());
            Assert.Equal(
                (0, false, ConnectionPhase.Free),
                await _script.Reactor.AskAsync(() => (Source.Receiver.Bytes, Source.Receiver.HasReceived, Source.Phase)));
        }

        public async Task EndAsync()
        {
            await _script.Reactor.AskAsync(() =>
            {
                Source.Abort();
                Destination.Abort();
                return true;
            });
            Assert.Equal(0, SocketCalls.Close(SourceSocket));
        }

        private async Task ServeAsync(Connection destination)
        {
            _destination = destination;
            while (await destination.ReadAsync() == ReadOutcome.Data)
            {
                destination.Consume(destination.Input.Length);
            }

            Source.Abort();
        }

        private async Task PassAsync(Connection source)
        {
            _source = source;
            source.Receiver.Relay = Relay;
            while (await source.ReadAsync() == ReadOutcome.Data)
            {
                if (!source.Input.IsEmpty)
                {
                    Destination.Write(source.Input);
                    Destination.Flush();
                    source.Consume(source.Input.Length);
                }
            }
        }
    }

    /// <summary>Everything goes to the destination, in frames of a size, or as it is.</summary>
    private sealed class TestRelay(Func<Connection> destination, int frameBytes) : IInputRelay
    {
        public int Moved { get; private set; }

        /// <summary>Called within the question for the header of a frame.</summary>
        public Action? Framed { get; set; }

        /// <summary>Called within the question for how much may be moved, once.</summary>
        public Action? Asked { get; set; }

        public Connection? Destination => destination();

        public long BytesMax
        {
            get
            {
                Action? asked = Asked;
                Asked = null;
                asked?.Invoke();
                return 1_000_000;
            }
        }

        public int Frame(Span<byte> header, int before, ref int bytes)
        {
            Framed?.Invoke();
            bytes = frameBytes > 0 ? Math.Min(bytes, frameBytes) : bytes;
            return frameBytes > 0 ? 9 : 0;
        }

        public void OnMoved(int bytes) => Moved += bytes;
    }
}
