using System.Runtime.InteropServices;
using Millrace.Interop.Epoll;
using Millrace.Interop.Memory;
using Millrace.Interop.Sockets;
using Millrace.Interop.Tests.Kit;

namespace Millrace.Interop.Tests.Calls;

/// <summary>Epoll, and the transfers that do not wait, on real sockets of the loopback.</summary>
public unsafe class EpollCallsTests
{
    private const ulong Data = 0x8877_6655_4433_2211;
    private const EpollEventMask Mask = EpollEventMask.Readable | EpollEventMask.EdgeTriggered;

    [Fact]
    public void Entries_are_packed_on_x64_only()
    {
        Assert.Equal(12, EpollEvents.EntryBytesOn(Architecture.X64));
        Assert.Equal(16, EpollEvents.EntryBytesOn(Architecture.Arm64));
        Assert.Throws<PlatformNotSupportedException>(static () => EpollEvents.EntryBytesOn(Architecture.RiscV64));
    }

    [Fact]
    public void Each_event_bears_the_data_of_its_descriptor()
    {
        using var first = new TcpPair();
        using var second = new TcpPair();
        using var events = new EpollEvents(8);
        int epoll = TcpPair.Require(EpollCalls.Create());
        Assert.True(Libc.IsCloseOnExec(epoll));
        TcpPair.Require(EpollCalls.Add(epoll, first.Accepted, Mask, Data));
        TcpPair.Require(EpollCalls.Add(epoll, second.Accepted, Mask, Data + 1));
        Assert.Equal(0, Wait(epoll, events, 0));

        Send(first.Client, "x"u8);
        Send(second.Client, "x"u8);
        var seen = new List<(ulong, EpollEventMask)>();
        while (seen.Count < 2)
        {
            int count = Wait(epoll, events, 5_000);
            Assert.InRange(count, 1, 2);
            seen.AddRange(Enumerable.Range(0, count).Select(i => (events.DataOf(i), events.MaskOf(i))));
        }

        Assert.Equal([(Data, EpollEventMask.Readable), (Data + 1, EpollEventMask.Readable)], seen.Order());
        TcpPair.Require(SocketCalls.Close(epoll));
    }

    [Fact]
    public void An_edge_is_told_once_and_modifying_tells_what_is_there()
    {
        using var pair = new TcpPair();
        using var events = new EpollEvents(8);
        int epoll = TcpPair.Require(EpollCalls.Create());
        TcpPair.Require(EpollCalls.Add(epoll, pair.Accepted, Mask, Data));
        Send(pair.Client, "x"u8);
        Assert.Equal(1, Wait(epoll, events, 5_000));
        Assert.Equal(0, Wait(epoll, events, 10));

        TcpPair.Require(EpollCalls.Modify(epoll, pair.Accepted, Mask | EpollEventMask.Writable, Data + 1));
        Assert.Equal(1, Wait(epoll, events, 5_000));
        Assert.Equal((EpollEventMask.Readable | EpollEventMask.Writable, Data + 1), (events.MaskOf(0), events.DataOf(0)));
        TcpPair.Require(SocketCalls.Close(epoll));
    }

    [Fact]
    public void A_transfer_of_a_blocking_socket_does_not_wait()
    {
        using var pair = new TcpPair();
        byte* buffer = stackalloc byte[16];
        Assert.Equal(-Errno.EAGAIN, TransferCalls.Receive(pair.Accepted, buffer, 16));
        Send(pair.Client, "hello"u8);
        Assert.Equal(5, ReceiveWhenThere(pair.Accepted, buffer));
        Assert.Equal("hello"u8, new ReadOnlySpan<byte>(buffer, 5));

        byte[] much = new byte[1024 * 1024];
        nint sent = 0;
        fixed (byte* bytes = much)
        {
            for (int i = 0; i < 1_000 && (sent = TransferCalls.Send(pair.Accepted, bytes, (nuint)much.Length)) > 0; i++)
            {
            }
        }

        Assert.Equal(-Errno.EAGAIN, sent);
    }

    [Fact]
    public void A_message_of_parts_arrives_as_one()
    {
        using var pair = new TcpPair();
        byte* buffer = stackalloc byte[16];
        fixed (byte* text = "abcdef"u8)
        {
            IoVector* parts = stackalloc IoVector[] { new() { Address = text + 3, Bytes = 3 }, new() { Address = text, Bytes = 2 } };
            var message = new MessageHeader { Vectors = parts, VectorCount = 2 };
            Assert.Equal(5, TransferCalls.SendMessage(pair.Client, &message));
        }

        Assert.Equal(5, ReceiveWhenThere(pair.Accepted, buffer));
        Assert.Equal("defab"u8, new ReadOnlySpan<byte>(buffer, 5));
    }

    [Fact]
    public void A_send_to_a_peer_that_is_gone_is_minus_epipe_and_no_signal()
    {
        using var pair = new TcpPair();
        TcpPair.Require(SocketCalls.Shutdown(pair.Accepted, ShutdownHow.Send));
        byte byteToSend = 1;
        Assert.Equal(-Errno.EPIPE, TransferCalls.Send(pair.Accepted, &byteToSend, 1));
    }

    [Fact]
    public void A_file_in_memory_holds_its_content()
    {
        int file = TcpPair.Require(MemoryCalls.MemoryFile("content"u8));
        byte* buffer = stackalloc byte[16];
        Assert.Equal(4, (int)Files.FileCalls.PositionalRead(file, buffer, 16, 3));
        Assert.Equal("tent"u8, new ReadOnlySpan<byte>(buffer, 4));
        Assert.True(Libc.IsCloseOnExec(file));
        TcpPair.Require(SocketCalls.Close(file));
    }

    /// <summary>The runtime's own signals may interrupt it.</summary>
    private static int Wait(int epoll, EpollEvents events, int timeoutMs)
    {
        int count;
        while ((count = EpollCalls.Wait(epoll, events, timeoutMs)) == -Errno.EINTR)
        {
        }

        return count;
    }

    private static void Send(int socket, ReadOnlySpan<byte> bytes)
    {
        fixed (byte* pointer = bytes)
        {
            Assert.Equal(bytes.Length, TransferCalls.Send(socket, pointer, (nuint)bytes.Length));
        }
    }

    private static int ReceiveWhenThere(int socket, byte* buffer)
    {
        int received;
        while ((received = TransferCalls.Receive(socket, buffer, 16)) == -Errno.EAGAIN)
        {
            Thread.Yield();
        }

        return received;
    }
}
