using System.Net.Sockets;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Receives that bring bytes once, asked of the ring directly over real sockets.</summary>
[Trait("Backend", "io_uring")]
public class OneShotReceiveTests() : BackendTest(BackendKind.IoUring)
{
    private static EngineOptions OneShot => Small.OneShot();

    [Fact]
    public void A_receive_brings_one_buffer_and_leaves_the_rest_to_the_next()
    {
        using DirectBackend kernel = Open(OneShot);
        using SocketPair pair = SocketPair.Tcp();
        pair.Peer.Send(Pattern.Make(1, 2 * BufferBytes));
        pair.Peer.Shutdown(SocketShutdown.Send);
        for (int part = 0; part < 2; part++)
        {
            kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
            Completion received = kernel.Next(ReceiveToken);
            Assert.Equal((BufferBytes, true, true), (received.Result, received.IsTerminal, received.HasBuffer));
            Pattern.Check(1, kernel.Take(received), part * BufferBytes);
            kernel.ExpectNothing(ReceiveToken);
        }

        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        Completion end = kernel.Next(ReceiveToken);
        Assert.Equal((0, true, false), (end.Result, end.IsTerminal, end.HasBuffer));
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void Waiting_receives_hold_no_buffer_until_bytes_come()
    {
        using DirectBackend kernel = Open(OneShot with { ReceiveBuffers = 1 });
        SocketPair[] pairs = [.. Enumerable.Range(0, 3).Select(static _ => SocketPair.Tcp())];
        for (int slot = 0; slot < pairs.Length; slot++)
        {
            kernel.Backend.SubmitReceive(DirectBackend.Token(OperationKind.Receive, slot), pairs[slot].Ours);
            kernel.ExpectNothing(DirectBackend.Token(OperationKind.Receive, slot));
        }

        for (int slot = 0; slot < pairs.Length; slot++)
        {
            pairs[slot].Peer.Send(Pattern.Make(slot, 10));
            Pattern.Check(slot, kernel.Take(kernel.Next(DirectBackend.Token(OperationKind.Receive, slot))));
            kernel.Backend.CloseSocket(pairs[slot].Ours);
            pairs[slot].Dispose();
        }
    }

    [Fact]
    public void Without_a_buffer_it_ends_with_enobufs_and_loses_nothing()
    {
        using DirectBackend kernel = Open(OneShot with { ReceiveBuffers = 1 });
        using SocketPair pair = SocketPair.Tcp();
        pair.Peer.Send(Pattern.Make(1, BufferBytes + 10));
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        Completion first = kernel.Next(ReceiveToken);
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        Completion none = kernel.Next(ReceiveToken);
        Assert.Equal((-Errno.ENOBUFS, true, false), (none.Result, none.IsTerminal, none.HasBuffer));

        Pattern.Check(1, kernel.Take(first));
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        Completion rest = kernel.Next(ReceiveToken);
        Assert.Equal(10, rest.Result);
        Pattern.Check(1, kernel.Take(rest), BufferBytes);
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void Cancelled_it_leaves_what_comes_for_the_next_one()
    {
        using DirectBackend kernel = Open(OneShot);
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        kernel.ExpectNothing(ReceiveToken);
        kernel.Cancel(ReceiveToken);
        pair.Peer.Send(Pattern.Make(2, 10));
        kernel.ExpectNothing(ReceiveToken);
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        Pattern.Check(2, kernel.Take(kernel.Next(ReceiveToken)));
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void A_cancel_that_comes_late_does_not_end_the_next_one()
    {
        using DirectBackend kernel = Open(OneShot);
        using SocketPair pair = SocketPair.Tcp();
        pair.Peer.Send(Pattern.Make(1, 10));
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        Pattern.Check(1, kernel.Take(kernel.Next(ReceiveToken)));
        kernel.Backend.SubmitCancel(ReceiveToken);
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        kernel.ExpectNothing(ReceiveToken);
        pair.Peer.Send(Pattern.Make(2, 10));
        Pattern.Check(2, kernel.Take(kernel.Next(ReceiveToken)));
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void A_reset_ends_it_with_its_error()
    {
        using DirectBackend kernel = Open(OneShot);
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        kernel.ExpectNothing(ReceiveToken);
        pair.ResetPeer();
        Completion end = kernel.Next(ReceiveToken);
        Assert.Equal((-Errno.ECONNRESET, true, false), (end.Result, end.IsTerminal, end.HasBuffer));
        kernel.Backend.CloseSocket(pair.Ours);
    }

    [Fact]
    public void Urgent_data_hides_nothing_behind_it()
    {
        using DirectBackend kernel = Open(OneShot);
        using SocketPair pair = SocketPair.Tcp();
        kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        kernel.ExpectNothing(ReceiveToken);
        pair.Peer.Send("ab"u8);
        pair.Peer.Send("!"u8, SocketFlags.OutOfBand);
        pair.Peer.Send("cd"u8);
        var got = new List<byte>();
        while (got.Count < 4)
        {
            got.AddRange(kernel.Take(kernel.Next(ReceiveToken)));
            kernel.Backend.SubmitReceive(ReceiveToken, pair.Ours);
        }

        Assert.Equal("abcd"u8.ToArray(), got);
        kernel.Cancel(ReceiveToken);
        kernel.Backend.CloseSocket(pair.Ours);
    }
}
