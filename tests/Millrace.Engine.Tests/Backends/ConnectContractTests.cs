using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Backends;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Backends.Kit;
using Millrace.Engine.Tests.Kit;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Backends;

/// <summary>What every backend owes a reactor that connects, asked of it directly over real sockets.</summary>
public abstract class ConnectContractTests(BackendKind kind, bool isPolled = false) : BackendTest(kind, isPolled)
{
    [Theory]
    [InlineData("tcp")]
    [InlineData("unix")]
    public void What_a_peer_sends_as_soon_as_it_accepts_is_received_with_its_end(string family)
    {
        using DirectBackend kernel = Open();
        using Socket listener = Listen(family);
        int socket = Connect(kernel, listener.LocalEndPoint!);
        kernel.Iteration(0);
        using (Socket accepted = listener.Accept())
        {
            accepted.Send("early"u8);
        }

        Completion connected = kernel.Next(ConnectToken);
        Assert.Equal((0, true), (connected.Result, connected.IsTerminal));
        kernel.Backend.SubmitReceive(ReceiveToken, socket);
        Assert.Equal("early"u8.ToArray(), kernel.Receive(ReceiveToken, 5));
        Assert.Equal(0, kernel.Next(ReceiveToken).Result);
        kernel.Backend.CloseSocket(socket);
    }

    [Fact]
    public unsafe void A_connected_socket_sends_and_receives()
    {
        using DirectBackend kernel = Open();
        using Socket listener = Listen("tcp");
        int socket = Connect(kernel, listener.LocalEndPoint!);
        Assert.Equal(0, kernel.Next(ConnectToken).Result);
        using Socket accepted = listener.Accept();
        kernel.Backend.SubmitReceive(ReceiveToken, socket);
        for (int i = 0; i < 3; i++)
        {
            kernel.Backend.SubmitSend(SendToken, socket, new SendRequest(kernel.Memory("out"u8), 3));
            Assert.Equal(3, kernel.Next(SendToken).Result);
            byte[] got = new byte[8];
            Assert.Equal(3, accepted.Receive(got));
            accepted.Send("back"u8);
            Assert.Equal("back"u8.ToArray(), kernel.Receive(ReceiveToken, 4));
        }

        kernel.Cancel(ReceiveToken);
        kernel.Backend.CloseSocket(socket);
    }

    [Fact]
    public void A_connect_that_is_refused_says_so()
    {
        using DirectBackend kernel = Open();
        using var silent = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        silent.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        int socket = Connect(kernel, silent.LocalEndPoint!);
        Completion refused = kernel.Next(ConnectToken);
        Assert.Equal((-Errno.ECONNREFUSED, true), (refused.Result, refused.IsTerminal));
        kernel.Backend.CloseSocket(socket);
    }

    [Fact]
    public void A_connect_to_a_file_that_is_not_there_says_so()
    {
        using DirectBackend kernel = Open();
        using var folder = new TemporaryFolder();
        int socket = Connect(kernel, new UnixDomainSocketEndPoint(folder.File("missing")));
        Assert.Equal(-Errno.ENOENT, kernel.Next(ConnectToken).Result);
        kernel.Backend.CloseSocket(socket);
    }

    [Fact]
    public void A_connect_without_an_answer_waits_until_it_is_cancelled()
    {
        using var hole = BlackHole.Open();
        using Socket listener = Listen("tcp");
        using DirectBackend kernel = Open();
        int socket = Connect(kernel, hole.EndPoint);
        kernel.ExpectNothing(ConnectToken);
        kernel.Cancel(ConnectToken);
        int next = NewSocket(listener.LocalEndPoint!);
        kernel.Backend.CloseSocket(socket);

        // The next one has the same number.
        SocketPair.Move(next, socket);
        Connect(kernel, socket, listener.LocalEndPoint!);
        Assert.Equal(0, kernel.Next(ConnectToken).Result);
        kernel.ExpectNothing(ConnectToken);
        kernel.Backend.CloseSocket(socket);
    }

    private static Socket Listen(string family)
    {
        bool isUnix = family == "unix";
        Socket listener = isUnix
            ? new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
            : new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(isUnix ? new UnixDomainSocketEndPoint($"\0millrace-{Guid.NewGuid():N}") : new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        return listener;
    }

    private static int Connect(DirectBackend kernel, EndPoint endPoint)
    {
        int socket = NewSocket(endPoint);
        Connect(kernel, socket, endPoint);
        return socket;
    }

    private static unsafe void Connect(DirectBackend kernel, int socket, EndPoint endPoint)
    {
        ReadOnlySpan<byte> address = SocketEndPoint.Encode(endPoint);
        kernel.Backend.SubmitConnect(ConnectToken, socket, kernel.Memory(address), address.Length);
    }

    private static int NewSocket(EndPoint endPoint)
    {
        int socket = SocketCalls.Socket(SocketEndPoint.Family(endPoint), SocketTypeNumber.Stream);
        Assert.True(socket >= 0);
        return socket;
    }
}

[Trait("Backend", "io_uring")]
public class UringConnectContractTests() : ConnectContractTests(BackendKind.IoUring);

[Trait("Backend", "io_uring")]
public class PolledUringConnectContractTests() : ConnectContractTests(BackendKind.IoUring, isPolled: true);

[Trait("Backend", "epoll")]
public class EpollConnectContractTests() : ConnectContractTests(BackendKind.Epoll);
