using System.Runtime.InteropServices;
using Millrace.Engine.Backends;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.IoUring;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends;

/// <summary>Datagrams, over a pair of unix sockets: unlike UDP, a full one is certain.</summary>
public abstract unsafe partial class DatagramContractTests(BackendKind kind, bool isPolled = false) : BackendTest(kind, isPolled)
{
    /// <summary>Some datagrams, with what the kernel adds to each.</summary>
    private const int SendBufferBytes = 10_000;

    private static readonly OperationToken Receive = DirectBackend.Token(OperationKind.ReceiveDatagrams, slot: 3, generation: 7);

    [Fact]
    public void A_receive_brings_each_datagram_until_it_is_cancelled()
    {
        using DirectBackend kernel = Prepare();
        (int ours, int peer) = Pair();
        kernel.Backend.SubmitReceiveDatagrams(Receive, ours);
        for (int i = 1; i < 40; i++)
        {
            Send(peer, Pattern.Make(i, i * 10));
            Pattern.Check(i, Take(kernel, expectsEnd: false));
        }

        kernel.ExpectNothing(Receive);
        kernel.Cancel(Receive);
        Close(kernel, ours, peer);
    }

    [Fact]
    public void Without_buffers_the_receive_ends_and_the_next_one_loses_nothing()
    {
        using DirectBackend kernel = Prepare(buffers: 2);
        (int ours, int peer) = Pair();
        for (int i = 0; i < 5; i++)
        {
            Send(peer, Pattern.Make(i, 100));
        }

        for (int next = 0; next < 4; next += 2)
        {
            kernel.Backend.SubmitReceiveDatagrams(Receive, ours);
            Completion first = kernel.Next(Receive);
            Completion second = kernel.Next(Receive);
            Completion end = kernel.Next(Receive);
            Assert.Equal((-Errno.ENOBUFS, true, false), (end.Result, end.IsTerminal, end.HasBuffer));
            Pattern.Check(next, PayloadOf(first));
            Pattern.Check(next + 1, PayloadOf(second));
            kernel.Backend.ReturnDatagramBuffer(first.BufferId);
            kernel.Backend.ReturnDatagramBuffer(second.BufferId);
        }

        kernel.Backend.SubmitReceiveDatagrams(Receive, ours);
        Pattern.Check(4, Take(kernel, expectsEnd: false));
        kernel.Cancel(Receive);
        Close(kernel, ours, peer);
    }

    [Fact]
    public void A_datagram_that_does_not_fit_is_known_by_its_length()
    {
        using DirectBackend kernel = Prepare();
        (int ours, int peer) = Pair();
        kernel.Backend.SubmitReceiveDatagrams(Receive, ours);
        Send(peer, new byte[DatagramBuffer.PayloadBytes + 10]);
        Completion cut = kernel.Next(Receive);
        var header = (ReceivedMessage*)cut.Data;
        Assert.Equal((uint)DatagramBuffer.PayloadBytes + 10, header->PayloadBytes);
        Assert.True(cut.Result <= DatagramBuffer.Bytes);
        kernel.Backend.ReturnDatagramBuffer(cut.BufferId);
        kernel.Cancel(Receive);
        Close(kernel, ours, peer);
    }

    [Fact]
    public void Many_sends_of_a_full_socket_wait_and_go_on_as_the_peer_reads()
    {
        const int Count = 60;
        using DirectBackend kernel = Prepare();
        (int ours, int peer) = Pair();
        for (int i = 0; i < Count; i++)
        {
            kernel.Backend.SubmitSendDatagram(Token(i), ours, Message(kernel, Pattern.Make(i, 100)));
        }

        kernel.ExpectNothing(Token(Count - 1));
        var read = new List<byte[]>();
        while (read.Count < Count)
        {
            kernel.Iteration(0);
            byte[] buffer = new byte[1_000];
            fixed (byte* bytes = buffer)
            {
                int received = TransferCalls.Receive(peer, bytes, buffer.Length);
                if (received > 0)
                {
                    read.Add(buffer[..received]);
                }
            }
        }

        for (int i = 0; i < Count; i++)
        {
            Assert.Equal((100, true), (kernel.Next(Token(i)).Result, true));
            Assert.Contains(read, one => one.SequenceEqual(Pattern.Make(i, 100)));
        }

        Close(kernel, ours, peer);
    }

    [Fact]
    public void Waiting_sends_are_cancelled_and_what_the_socket_takes_is_sent()
    {
        const int Count = 60;
        using DirectBackend kernel = Prepare();
        (int ours, int peer) = Pair();
        for (int i = 0; i < Count; i++)
        {
            kernel.Backend.SubmitSendDatagram(Token(i), ours, Message(kernel, [(byte)i]));
        }

        for (int i = 0; i < Count; i++)
        {
            kernel.Backend.SubmitCancel(Token(i));
        }

        int[] results = [.. Enumerable.Range(0, Count).Select(i => kernel.Next(Token(i)).Result)];
        Assert.True(results[0] == 1, $"The first send ended with {results[0]}.");
        Assert.Equal(-Errno.ECANCELED, results[^1]);
        Assert.All(results, static result => Assert.Contains(result, (int[])[1, -Errno.ECANCELED]));
        Close(kernel, ours, peer);
    }

    [Fact]
    public void A_send_that_is_refused_does_not_hold_up_the_next_one()
    {
        using DirectBackend kernel = Prepare();
        (int ours, int peer) = Pair();
        MessageHeader* bad = Message(kernel, [1]);
        // A connected socket takes no other address than a unix one.
        bad->Name = kernel.Memory(new byte[16]);
        bad->NameBytes = 16;
        kernel.Backend.SubmitSendDatagram(Token(0), ours, bad);
        kernel.Backend.SubmitSendDatagram(Token(1), ours, Message(kernel, [2]));
        Assert.True(kernel.Next(Token(0)).Result < 0);
        Assert.Equal(1, kernel.Next(Token(1)).Result);
        Close(kernel, ours, peer);
    }

    [Fact]
    public void Pages_of_buffers_are_given_back_and_come_again()
    {
        using DirectBackend kernel = Prepare();
        (int ours, int peer) = Pair();
        kernel.Backend.SubmitReceiveDatagrams(Receive, ours);
        for (int i = 0; i < 3; i++)
        {
            Send(peer, Pattern.Make(i, 60_000));
            Completion kept = kernel.Next(Receive);
            kernel.Backend.Trim(all: true);
            Pattern.Check(i, PayloadOf(kept));
            kernel.Backend.ReturnDatagramBuffer(kept.BufferId);
            kernel.Backend.Trim(all: true);
        }

        kernel.Cancel(Receive);
        Close(kernel, ours, peer);
    }

    private static OperationToken Token(int slot) => DirectBackend.Token(OperationKind.SendDatagram, slot, generation: 2);

    private DirectBackend Prepare(int buffers = 4)
    {
        DirectBackend kernel = Open(Small with { DatagramBuffers = buffers });
        kernel.Backend.PrepareDatagrams();
        kernel.Backend.PrepareDatagrams();
        return kernel;
    }

    private static (int Ours, int Peer) Pair()
    {
        const int NonBlockingDatagram = SocketTypeNumber.Datagram | SocketTypeNumber.NonBlocking | SocketTypeNumber.CloseOnExec;
        int* pair = stackalloc int[2];
        Assert.Equal(0, socketpair(AddressFamilyNumber.Unix, NonBlockingDatagram, 0, pair));
        Assert.Equal(0, SocketCalls.SetOption(pair[0], SocketOptionNumber.LevelSocket, SocketOptionNumber.SendBuffer, SendBufferBytes));
        return (pair[0], pair[1]);
    }

    private static void Close(DirectBackend kernel, int ours, int peer)
    {
        kernel.Backend.CloseSocket(ours);
        Assert.Equal(0, SocketCalls.Close(peer));
    }

    private static void Send(int peer, byte[] datagram)
    {
        fixed (byte* bytes = datagram)
        {
            Assert.Equal(datagram.Length, (int)TransferCalls.Send(peer, bytes, (nuint)datagram.Length));
        }
    }

    private static byte[] Take(DirectBackend kernel, bool expectsEnd)
    {
        Completion completion = kernel.Next(Receive);
        Assert.Equal((true, expectsEnd), (completion.HasBuffer, completion.IsTerminal));
        byte[] bytes = PayloadOf(completion);
        kernel.Backend.ReturnDatagramBuffer(completion.BufferId);
        return bytes;
    }

    private static byte[] PayloadOf(in Completion completion) =>
        new ReadOnlySpan<byte>(completion.Data + DatagramBuffer.PayloadOffset, completion.Result - DatagramBuffer.PayloadOffset).ToArray();

    private static MessageHeader* Message(DirectBackend kernel, byte[] datagram)
    {
        byte* bytes = kernel.Memory(datagram);
        var vector = (IoVector*)kernel.Memory(new byte[sizeof(IoVector)]);
        *vector = new IoVector { Address = bytes, Bytes = (nuint)datagram.Length };
        var message = (MessageHeader*)kernel.Memory(new byte[sizeof(MessageHeader)]);
        *message = new MessageHeader { Vectors = vector, VectorCount = 1 };
        return message;
    }

    [LibraryImport("libc")]
    private static partial int socketpair(int family, int type, int protocol, int* pair);
}

[Trait("Backend", "io_uring")]
public class UringDatagramContractTests() : DatagramContractTests(BackendKind.IoUring);

[Trait("Backend", "io_uring")]
public class PolledUringDatagramContractTests() : DatagramContractTests(BackendKind.IoUring, isPolled: true);

[Trait("Backend", "epoll")]
public class EpollDatagramContractTests() : DatagramContractTests(BackendKind.Epoll);
