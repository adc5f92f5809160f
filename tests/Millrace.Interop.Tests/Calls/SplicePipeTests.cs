using System.Net;
using System.Net.Sockets;
using Millrace.Interop.Sockets;

namespace Millrace.Interop.Tests.Calls;

/// <summary>What is moved from one socket to another arrives in order and whole, whatever the destination takes of it.</summary>
public sealed class SplicePipeTests : IDisposable
{
    private readonly Connected _source = new();
    private readonly Connected _destination = new();
    private readonly SplicePipe _pipe = SplicePipe.TryOpen()!;
    private readonly byte[] _rest = new byte[SplicePipe.Bytes];

    public void Dispose()
    {
        _pipe.Dispose();
        _source.Dispose();
        _destination.Dispose();
    }

    [Fact]
    public void Bytes_are_moved_and_the_destination_sends_them()
    {
        byte[] sent = Send(1, 10_000);
        Assert.Equal((10_000, 0), Move(SplicePipe.Bytes));
        Assert.Equal(sent, Received(10_000));
    }

    [Fact]
    public void No_more_is_moved_than_was_asked_for()
    {
        byte[] sent = Send(1, 10_000);
        Assert.Equal((4_000, 0), Move(4_000));
        Assert.Equal((6_000, 0), Move(SplicePipe.Bytes));
        Assert.Equal(sent, Received(10_000));
    }

    [Fact]
    public void Bytes_are_given_in_parts_and_those_that_others_follow_arrive_with_them()
    {
        byte[] sent = Send(1, 10_000);
        Assert.Equal(10_000, _pipe.Take(_source.Descriptor, SplicePipe.Bytes));
        Assert.Equal(7_000, _pipe.Give(_destination.Descriptor, 7_000, hasMore: true));
        Assert.Equal(3_000, _pipe.Give(_destination.Descriptor, 3_000, hasMore: false));
        Assert.Equal(sent, Received(10_000));
    }

    [Fact]
    public void A_source_without_bytes_is_told_from_its_end()
    {
        Assert.Equal((-Errno.EAGAIN, 0), Move(100));
        _source.Remote.Shutdown(SocketShutdown.Send);
        _source.AwaitInput();
        Assert.Equal((0, 0), Move(100));
    }

    [Fact]
    public void What_a_full_destination_does_not_take_is_the_rest_and_the_pipe_is_empty_afterwards()
    {
        var sent = new List<byte>();
        int restBytes = 0;
        int moved = 0;
        for (int i = 0; restBytes == 0; i++)
        {
            Assert.InRange(i, 0, 1_000);
            sent.AddRange(Send(i, 50_000));
            (int taken, restBytes) = Move(50_000);
            Assert.InRange(taken, 1, 50_000);
            moved += taken;
        }

        byte[] received = [.. Received(moved - restBytes), .. _rest[..restBytes]];
        Assert.Equal(sent[..moved], received);

        byte[] last = [.. sent[moved..], .. Send(-1, 100)];
        Assert.Equal(last, MovedAll(last.Length));
    }

    [Fact]
    public void What_a_broken_destination_does_not_take_is_the_rest()
    {
        _destination.Remote.Close(timeout: 0);
        _destination.AwaitInput();
        byte[] sent = Send(1, 10_000);
        Assert.Equal((10_000, 10_000), Move(SplicePipe.Bytes));
        Assert.Equal(sent, _rest[..10_000]);
    }

    private byte[] MovedAll(int count)
    {
        for (int moved = 0; moved < count;)
        {
            (int taken, int rest) = Move(SplicePipe.Bytes);
            Assert.InRange(taken, 1, count);
            Assert.Equal(0, rest);
            moved += taken;
        }

        return Received(count);
    }

    private unsafe (int Taken, int RestBytes) Move(int bytes)
    {
        int taken = _pipe.Take(_source.Descriptor, bytes);
        int rest = taken > 0 ? taken - _pipe.Give(_destination.Descriptor, taken, hasMore: false) : 0;
        fixed (byte* buffer = _rest)
        {
            _pipe.Drain(buffer, rest);
        }

        return (taken, rest);
    }

    /// <summary>Random bytes, the first of which have reached the source.</summary>
    private byte[] Send(int seed, int count)
    {
        byte[] bytes = new byte[count];
        new Random(seed).NextBytes(bytes);
        Assert.Equal(count, _source.Remote.Send(bytes));
        _source.AwaitInput();
        return bytes;
    }

    private byte[] Received(int count)
    {
        byte[] bytes = new byte[count];
        for (int received = 0; received < count;)
        {
            int more = _destination.Remote.Receive(bytes.AsSpan(received));
            Assert.InRange(more, 1, count);
            received += more;
        }

        return bytes;
    }

    /// <summary>A connection over the loopback; its local end has O_NONBLOCK, its remote end waits ten seconds at most.</summary>
    private sealed class Connected : IDisposable
    {
        private readonly Socket _local;

        public Connected()
        {
            using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
            listener.Listen();
            Remote = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp)
            {
                NoDelay = true,
                ReceiveTimeout = 10_000,
                SendTimeout = 10_000,
            };
            Remote.Connect(listener.LocalEndPoint!);
            _local = listener.Accept();
            Assert.Equal(0, SocketCalls.SetNonBlocking(Descriptor));
        }

        public Socket Remote { get; }

        public int Descriptor => (int)_local.Handle;

        public void AwaitInput() => Assert.True(_local.Poll(10_000_000, SelectMode.SelectRead));

        public void Dispose()
        {
            Remote.Dispose();
            _local.Dispose();
        }
    }
}
