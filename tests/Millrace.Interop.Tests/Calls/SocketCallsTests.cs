using System.Net;
using System.Net.Sockets;
using Millrace.Interop.Sockets;
using Millrace.Interop.Tests.Kit;

namespace Millrace.Interop.Tests.Calls;

/// <summary>The socket calls on real sockets of the loopback.</summary>
public class SocketCallsTests
{
    [Fact]
    public void Both_ends_know_each_others_address()
    {
        using var pair = new TcpPair();

        Assert.Equal(TcpPair.LocalOf(pair.Client), TcpPair.PeerOf(pair.Accepted));
        Assert.Equal(TcpPair.LocalOf(pair.Accepted), TcpPair.PeerOf(pair.Client));
        Assert.Equal(TcpPair.LocalOf(pair.Listener), TcpPair.LocalOf(pair.Accepted));
        Assert.NotEqual(0, TcpPair.LocalOf(pair.Listener).Port);
    }

    [Fact]
    public void The_address_of_a_peer_that_has_reset_is_known_still()
    {
        using var pair = new TcpPair();
        IPEndPoint client = TcpPair.LocalOf(pair.Client);
        IPEndPoint accepted = TcpPair.LocalOf(pair.Accepted);
        TcpPair.Require(SocketCalls.SetResetOnClose(pair.Client));

        pair.CloseClient();

        Assert.Equal(client, TcpPair.PeerOf(pair.Accepted));
        Assert.Equal(accepted, TcpPair.LocalOf(pair.Accepted));
    }

    [Fact]
    public void An_address_that_does_not_fit_is_cut_and_its_whole_length_is_returned()
    {
        using var pair = new TcpPair();
        byte[] address = [0xee, 0xee, 0xee, 0xee, 0xee, 0xee];

        Assert.Equal(16, SocketCalls.LocalAddress(pair.Accepted, address.AsSpan(0, 4)));
        Assert.Equal(AddressFamilyNumber.InterNetwork, address[0]);
        Assert.Equal([0xee, 0xee], address[4..]);
    }

    [Fact]
    public void An_accepted_socket_has_the_listeners_options()
    {
        using var pair = new TcpPair();

        Assert.NotEqual(0, TcpPair.OptionOf(pair.Accepted, SocketOptionNumber.LevelTcp, SocketOptionNumber.NoDelay));
        Assert.Equal(
            TcpPair.NotSentLowWaterBytes,
            TcpPair.OptionOf(pair.Accepted, SocketOptionNumber.LevelTcp, SocketOptionNumber.NotSentLowWater));
        // What shows that they were inherited: a socket has neither by itself.
        Assert.Equal(0, TcpPair.OptionOf(pair.Client, SocketOptionNumber.LevelTcp, SocketOptionNumber.NoDelay));
        Assert.NotEqual(
            TcpPair.NotSentLowWaterBytes,
            TcpPair.OptionOf(pair.Client, SocketOptionNumber.LevelTcp, SocketOptionNumber.NotSentLowWater));
    }

    [Fact]
    public void Every_descriptor_is_closed_on_exec()
    {
        using var pair = new TcpPair();
        int wake = TcpPair.Require(SocketCalls.EventDescriptor());

        Assert.All([pair.Listener, pair.Client, pair.Accepted, wake], descriptor => Assert.True(Libc.IsCloseOnExec(descriptor)));
        TcpPair.Require(SocketCalls.Close(wake));
    }

    [Fact]
    public void An_accepted_socket_does_not_block_whether_its_listener_does_or_not()
    {
        using var pair = new TcpPair();
        TcpPair.Require(SocketCalls.SetNonBlocking(pair.Listener));

        Assert.Equal(-Errno.EAGAIN, SocketCalls.Accept(pair.Listener));
        int client = TcpPair.Require(SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream));
        TcpPair.Require(SocketCalls.Connect(client, TcpPair.Encode(TcpPair.LocalOf(pair.Listener))));
        int accepted = TcpPair.Require(SocketCalls.Accept(pair.Listener));
        Assert.NotEqual(0, Libc.FlagsOf(pair.Listener) & SocketTypeNumber.NonBlocking);
        Assert.NotEqual(0, Libc.FlagsOf(accepted) & SocketTypeNumber.NonBlocking);
        Assert.NotEqual(0, Libc.FlagsOf(pair.Accepted) & SocketTypeNumber.NonBlocking);
        TcpPair.Require(SocketCalls.Close(accepted));
        TcpPair.Require(SocketCalls.Close(client));
    }

    [Fact]
    public void Who_connects_after_the_end_of_connects_is_refused_and_who_was_queued_is_accepted()
    {
        using var pair = new TcpPair();
        ReadOnlySpan<byte> address = TcpPair.Encode(TcpPair.LocalOf(pair.Listener));
        int queued = TcpPair.Require(SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream));
        TcpPair.Require(SocketCalls.Connect(queued, address));
        TcpPair.Require(SocketCalls.EndConnects(pair.Listener));
        TcpPair.Require(SocketCalls.SetNonBlocking(pair.Listener));
        int late = TcpPair.Require(SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream));
        Assert.Equal(-Errno.ECONNREFUSED, SocketCalls.Connect(late, address));

        int accepted = TcpPair.Require(SocketCalls.Accept(pair.Listener));
        Assert.Equal(-Errno.EAGAIN, SocketCalls.Accept(pair.Listener));

        TcpPair.Require(SocketCalls.Close(accepted));
        TcpPair.Require(SocketCalls.Close(queued));
        TcpPair.Require(SocketCalls.Close(late));
    }

    [Fact]
    public void What_a_peer_that_reads_nothing_leaves_is_unacknowledged()
    {
        using var pair = new TcpPair();
        Assert.Equal(0, SocketCalls.UnacknowledgedBytes(pair.Accepted));
        TcpPair.Require(SocketCalls.SetNonBlocking(pair.Accepted));

        // Until both queues are full: what the client's holds is acknowledged, the rest of ours is not.
        byte[] chunk = new byte[65_536];
        long sent = 0;
        int result;
        while ((result = Libc.Write(pair.Accepted, chunk)) > 0)
        {
            sent += result;
        }

        Assert.Equal(-Errno.EAGAIN, result);
        Assert.InRange(SocketCalls.UnacknowledgedBytes(pair.Accepted), 1, sent);

        long received = 0;
        while (received < sent)
        {
            received += TcpPair.Require(Libc.Read(pair.Client, chunk));
        }

        // The last acknowledgement may come a delayed-ACK time (40 ms) after the read.
        Assert.True(SpinWait.SpinUntil(() => SocketCalls.UnacknowledgedBytes(pair.Accepted) == 0, TimeSpan.FromSeconds(60)));
    }

    [Fact]
    public void A_close_after_reset_on_close_resets()
    {
        using var pair = new TcpPair();
        TcpPair.Require(SocketCalls.SetResetOnClose(pair.Accepted));

        pair.CloseAccepted();

        Assert.Equal(-Errno.ECONNRESET, Libc.Read(pair.Client, new byte[1]));
    }

    [Fact]
    public void A_plain_close_ends_in_order()
    {
        using var pair = new TcpPair();

        pair.CloseAccepted();

        Assert.Equal(0, Libc.Read(pair.Client, new byte[1]));
    }

    [Fact]
    public void Shutting_down_the_sending_side_leaves_the_other_open()
    {
        using var pair = new TcpPair();
        byte[] bytes = new byte[8];

        Assert.Equal(0, SocketCalls.Shutdown(pair.Accepted, ShutdownHow.Send));

        Assert.Equal(0, Libc.Read(pair.Client, bytes));
        Assert.Equal(5, Libc.Write(pair.Client, "still"u8));
        Assert.Equal(5, Libc.Read(pair.Accepted, bytes));
        Assert.Equal("still"u8.ToArray(), bytes[..5]);
    }

    [Fact]
    public void An_event_descriptor_adds_up_what_was_signalled()
    {
        int wake = TcpPair.Require(SocketCalls.EventDescriptor());
        byte[] count = new byte[sizeof(ulong)];

        Assert.Equal(sizeof(ulong), SocketCalls.SignalEvent(wake));
        Assert.Equal(sizeof(ulong), SocketCalls.SignalEvent(wake));

        Assert.Equal(sizeof(ulong), Libc.Read(wake, count));
        Assert.Equal(2UL, BitConverter.ToUInt64(count));
        TcpPair.Require(SocketCalls.SetNonBlocking(wake));
        Assert.Equal(-Errno.EAGAIN, Libc.Read(wake, count));
        TcpPair.Require(SocketCalls.Close(wake));
    }

    [Fact]
    public void Two_sockets_share_a_port_once_both_allow_it()
    {
        int first = TcpPair.Require(SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream));
        int second = TcpPair.Require(SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream));
        TcpPair.Require(SocketCalls.Bind(first, TcpPair.Encode(new IPEndPoint(IPAddress.Loopback, 0))));
        byte[] address = TcpPair.Encode(TcpPair.LocalOf(first)).ToArray();

        // The first binds without it, so that a port in use is an error, and allows it afterwards.
        TcpPair.Require(SocketCalls.SetOption(second, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReusePort, 1));
        Assert.Equal(-Errno.EADDRINUSE, SocketCalls.Bind(second, address));
        TcpPair.Require(SocketCalls.SetOption(first, SocketOptionNumber.LevelSocket, SocketOptionNumber.ReusePort, 1));
        Assert.Equal(0, SocketCalls.Bind(second, address));

        TcpPair.Require(SocketCalls.Close(second));
        TcpPair.Require(SocketCalls.Close(first));
    }

    [Fact]
    public void An_unnamed_unix_socket_has_an_address_of_its_family_alone()
    {
        int socket = TcpPair.Require(SocketCalls.Socket(AddressFamilyNumber.Unix, SocketTypeNumber.Stream));
        Span<byte> address = stackalloc byte[128];

        Assert.Equal(sizeof(ushort), SocketCalls.LocalAddress(socket, address));
        Assert.Equal(AddressFamilyNumber.Unix, address[0]);
        TcpPair.Require(SocketCalls.Close(socket));
    }

    [Fact]
    public void An_ipv6_socket_can_be_kept_to_ipv6()
    {
        Assert.True(Socket.OSSupportsIPv6);
        int socket = TcpPair.Require(SocketCalls.Socket(AddressFamilyNumber.InterNetworkV6, SocketTypeNumber.Stream));

        foreach (int only in (int[])[0, 1])
        {
            TcpPair.Require(SocketCalls.SetOption(socket, SocketOptionNumber.LevelIPv6, SocketOptionNumber.IPv6Only, only));
            Assert.Equal(only, TcpPair.OptionOf(socket, SocketOptionNumber.LevelIPv6, SocketOptionNumber.IPv6Only));
        }

        TcpPair.Require(SocketCalls.Close(socket));
    }
}
