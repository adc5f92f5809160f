using System.Net;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Listening;

/// <summary>What is left of an address that nobody listens on any more: nothing, whoever ended first.</summary>
public class ClosedListenerTests : EngineTest
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task Nothing_of_a_listener_that_was_stopped_is_kept(int reactors)
    {
        ReactorGroup group = await StartAsync(Options() with { Reactors = reactors });
        Listener stays = await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 0), Handlers.EchoAsync).Within();
        for (int i = 0; i < 3; i++)
        {
            (WeakReference handler, WeakReference listener) = await ServeOnceAsync(group);
            await Waiting.UntilAsync(() => IsCollected(handler) && IsCollected(listener), "the listener and its handler were let go");
        }

        Client client = await ConnectAsync(stays);
        await client.SendAsync("still");
        Assert.Equal("still", await client.ReceiveTextAsync(5));
    }

    [Fact]
    public async Task A_listen_that_fails_for_one_reactor_leaves_no_socket_and_no_acceptor()
    {
        ReactorGroup group = await StartAsync(Options() with { Reactors = 3 });
        Reactor[] reactors = [.. group.Reactors];
        Listener listener = await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 0), Handlers.EchoAsync).Within();
        await listener.StopAsync().Within();
        await reactors[1].StopAsync(TimeSpan.Zero).Within();

        // The second one would find the address in use if the first had left a socket.
        await Assert.ThrowsAsync<ObjectDisposedException>(() => group.ListenAsync(listener.EndPoint, Handlers.EchoAsync).Within());
        await Assert.ThrowsAsync<ObjectDisposedException>(() => group.ListenAsync(listener.EndPoint, Handlers.EchoAsync).Within());
    }

    [Fact]
    public async Task A_connection_that_is_dealt_to_a_reactor_that_has_ended_is_closed()
    {
        ReactorGroup group = await StartAsync();
        await group.StopAsync(TimeSpan.Zero).Within();
        var core = new ListenerContext(Script.Nowhere, Handlers.EchoAsync, filters: null);
        (int ours, Socket peer) = SocketOfPair();
        using (peer)
        {
            new ConnectionBalancer(group.Reactors).Distribute(ours, core);
            byte[] one = new byte[1];
            await Assert.ThrowsAsync<SocketException>(() => peer.ReceiveAsync(one).Within());
        }
    }

    [Fact]
    public async Task A_listener_of_a_reactor_that_gave_its_kernel_up_is_stopped()
    {
        await using Script script = await Script.StartAsync();
        var core = new ListenerContext(Script.Nowhere, Handlers.EchoAsync, filters: null);
        Acceptor acceptor = await script.Reactor.AskAsync(() => Acceptor.Start(script.Reactor, 7, core, script.Reactor.Admission.Acquire));
        await script.Kernel.ExpectAsync("accept");
        await AbandonedReactor.StopAsync(script);
        await acceptor.Stopped.Within();
    }

    /// <summary>In a frame of its own, that the test's does not keep what it made.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    private static async Task<(WeakReference Handler, WeakReference Listener)> ServeOnceAsync(ReactorGroup group)
    {
        var served = new Served();
        Listener listener = await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 0), served.EchoAsync).Within();
        using (Client client = await Client.ConnectAsync(listener.EndPoint))
        {
            await client.SendAsync("x");
            Assert.Equal("x", await client.ReceiveTextAsync(1));
        }

        await Waiting.UntilAsync(() => group.Reactors.All(static reactor => reactor.Connections.Count == 0), "the connection was recycled");
        await listener.StopAsync().Within();
        return (new WeakReference(served), new WeakReference(listener));
    }

    private static bool IsCollected(WeakReference reference)
    {
        GC.Collect();
        GC.WaitForPendingFinalizers();
        return !reference.IsAlive;
    }

    /// <summary>One end of a connection as a descriptor that nobody else closes, and the other as a socket.</summary>
    private static (int Descriptor, Socket Peer) SocketOfPair()
    {
        using var listener = new Socket(SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.IPv6Loopback, 0));
        listener.Listen();
        var peer = new Socket(SocketType.Stream, ProtocolType.Tcp);
        peer.Connect(listener.LocalEndPoint!);
        SafeSocketHandle accepted = listener.Accept().SafeHandle;
        int descriptor = (int)accepted.DangerousGetHandle();
        accepted.SetHandleAsInvalid();
        return (descriptor, peer);
    }

    private sealed class Served
    {
        private int _count;

        public Task EchoAsync(Connection connection)
        {
            _count++;
            return Handlers.EchoAsync(connection);
        }
    }
}
