using System.Net.Sockets;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Receives that end with the first bytes, with and without others before and after them.</summary>
public abstract class ReceiveOnceTests(BackendKind kind, bool isPolled = false) : BackendTest(kind, isPolled)
{
    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void It_ends_with_the_first_bytes_and_leaves_the_rest_to_the_next(bool isThere)
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        if (!isThere)
        {
            kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours, once: true);
            kernel.ExpectNothing(ReceiveToken);
        }

        pair.Peer.Send(Pattern.Make(1, BufferBytes));
        if (isThere)
        {
            kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours, once: true);
        }

        Completion first = kernel.Next(ReceiveToken);
        Assert.Equal((BufferBytes, true, true), (first.Result, first.IsTerminal, first.HasBuffer));
        Pattern.Check(1, kernel.Take(first));
        pair.Peer.Send(Pattern.Make(2, 100));
        kernel.ExpectNothing(ReceiveToken);

        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        Pattern.Check(2, kernel.Receive(ReceiveToken, 100));
        pair.Peer.Send(Pattern.Make(3, 100));
        Pattern.Check(3, kernel.Receive(ReceiveToken, 100));
        pair.Peer.Shutdown(SocketShutdown.Send);
        Completion end = kernel.Next(ReceiveToken);
        Assert.Equal((0, true), (end.Result, end.IsTerminal));
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void Once_it_has_ended_the_socket_can_be_closed_in_the_same_turn()
    {
        using DirectBackend kernel = Open();
        for (int i = 0; i < 50; i++)
        {
            using SocketPair pair = SocketPair.Tcp();
            pair.Peer.Send(Pattern.Make(i, 10));
            kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours, once: true);
            Pattern.Check(i, kernel.Take(kernel.Next(ReceiveToken)));
            kernel.Backend.CloseSocket(pair.Ours);
            Assert.Equal(0, pair.Peer.Receive(new byte[1]));
        }
    }

    [Fact]
    public void It_is_cancelled_and_ends_with_the_peer_as_any_other()
    {
        using DirectBackend kernel = Open();
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours, once: true);
        kernel.ExpectNothing(ReceiveToken);
        kernel.Cancel(ReceiveToken);

        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours, once: true);
        pair.Peer.Shutdown(SocketShutdown.Send);
        Completion end = kernel.Next(ReceiveToken);
        Assert.Equal((0, true, false), (end.Result, end.IsTerminal, end.HasBuffer));
        kernel.Backend.CloseSocket(pair.Ours);
    }
}

[Trait("Backend", "io_uring")]
public class UringReceiveOnceTests() : ReceiveOnceTests(BackendKind.IoUring);

[Trait("Backend", "io_uring")]
public class PolledUringReceiveOnceTests() : ReceiveOnceTests(BackendKind.IoUring, isPolled: true);

[Trait("Backend", "epoll")]
public class EpollReceiveOnceTests() : ReceiveOnceTests(BackendKind.Epoll);
