using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.Engine;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>Addresses as Kestrel binds and unbinds them.</summary>
public class ListenerTests : TransportTest
{
    [Fact]
    public async Task Port_0_is_resolved()
    {
        IConnectionListener listener = await BindAsync();
        Assert.NotEqual(0, Assert.IsType<IPEndPoint>(listener.EndPoint).Port);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    public async Task An_address_in_use_is_reported_in_the_way_that_Kestrel_knows(int reactors)
    {
        Options.ReactorCount = reactors;
        IConnectionListener listener = await BindAsync();
        AddressInUseException error = await Assert.ThrowsAsync<AddressInUseException>(() => BindAsync(listener.EndPoint));
        Assert.Contains("in use", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Unbinding_ends_the_accept_loop_and_refuses_who_comes_later()
    {
        IConnectionListener listener = await BindAsync();
        Task<ConnectionContext?> accept = listener.AcceptAsync().Within();
        await listener.UnbindAsync().AsTask().Within();
        Assert.Null(await accept);
        Assert.Null(await listener.AcceptAsync().Within());
        SocketException error = await Assert.ThrowsAsync<SocketException>(() => ConnectAsync(listener.EndPoint));
        Assert.Equal(SocketError.ConnectionRefused, error.SocketErrorCode);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Who_was_accepted_before_unbinding_is_handed_out_after_it(bool dealtBetweenReactors)
    {
        using var folder = new TemporaryFolder();
        Options.ReactorCount = 2;
        IConnectionListener listener = await BindAsync(dealtBetweenReactors ? new UnixDomainSocketEndPoint(folder.File("s")) : AnyPort);
        for (int i = 0; i < 10; i++)
        {
            await ConnectAsync(listener.EndPoint);
        }

        await listener.UnbindAsync().AsTask().Within();
        for (int i = 0; i < 10; i++)
        {
            await AcceptAsync(listener);
        }

        Assert.Null(await listener.AcceptAsync().Within());
    }

    [Fact]
    public async Task Who_was_never_handed_out_is_reset_with_the_listener()
    {
        IConnectionListener listener = await BindAsync();
        Peer peer = await ConnectAsync(listener.EndPoint);
        await listener.DisposeAsync().AsTask().Within();
        await peer.ExpectResetAsync();
    }

    [Fact]
    public async Task A_port_can_be_bound_again_while_connections_of_it_go_on()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        await UnbindAllAsync();
        IConnectionListener again = await BindAsync(connection.LocalEndPoint);
        await AcceptAsync(again, await ConnectAsync(again.EndPoint));
        await connection.Transport.Output.WriteAsync("still here".Ascii()).Within();
        Assert.Equal("still here", await peer.ReceiveAsync(10));
    }

    [Fact]
    public async Task A_unix_socket_is_served_and_its_file_removed()
    {
        using var folder = new TemporaryFolder();
        var endPoint = new UnixDomainSocketEndPoint(folder.File("s"));
        (Peer peer, ConnectionContext connection) = await PairAsync(endPoint);
        await peer.SendAsync("over a file");
        Assert.Equal(11, (await connection.Transport.Input.ReadAtLeastAsync(11).Within()).Buffer.Length);
        Assert.Equal(endPoint.ToString(), connection.LocalEndPoint?.ToString());
        await UnbindAllAsync();
        Assert.False(File.Exists(folder.File("s")));
    }

    [Fact]
    public async Task A_descriptor_that_was_bound_before_is_served_and_stays_its_owners()
    {
        using var inherited = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        inherited.Bind(AnyPort);
        var endPoint = new FileHandleEndPoint((ulong)inherited.Handle, FileHandleType.Auto);
        // Twice, as a service that is started again by its manager.
        for (int run = 0; run < 2; run++)
        {
            IConnectionListener listener = await BindAsync(endPoint);
            Assert.Equal(inherited.LocalEndPoint, listener.EndPoint);
            Peer peer = await ConnectAsync(listener.EndPoint);
            ConnectionContext connection = await AcceptAsync(listener);
            await connection.Transport.Output.WriteAsync("inherited".Ascii()).Within();
            Assert.Equal("inherited", await peer.ReceiveAsync(9));
            await listener.UnbindAsync().AsTask().Within();
        }

        // Still there, and still listening.
        using Peer late = await Peer.ConnectAsync(inherited.LocalEndPoint!);
    }

    [Fact]
    public async Task Any_address_of_IPv6_serves_IPv4_too()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "This machine has no IPv6.");
        IConnectionListener listener = await BindAsync(new IPEndPoint(IPAddress.IPv6Any, 0));
        int port = ((IPEndPoint)listener.EndPoint).Port;
        foreach (IPAddress address in (IPAddress[])[IPAddress.Loopback, IPAddress.IPv6Loopback])
        {
            Peer peer = await ConnectAsync(new IPEndPoint(address, port));
            ConnectionContext connection = await AcceptAsync(listener);
            IPEndPoint remote = Assert.IsType<IPEndPoint>(connection.RemoteEndPoint);
            Assert.Equal(address, remote.Address.IsIPv4MappedToIPv6 ? remote.Address.MapToIPv4() : remote.Address);
            Assert.Equal(((IPEndPoint)peer.Socket.LocalEndPoint!).Port, remote.Port);
            Assert.Equal(port, Assert.IsType<IPEndPoint>(connection.LocalEndPoint).Port);
        }
    }

    [Fact]
    public async Task Who_has_sent_and_reset_before_it_was_accepted_has_its_address()
    {
        IConnectionListener listener = await BindAsync();
        Reactor reactor = (await Factory.Reactors.StartedAsync(TestContext.Current.CancellationToken)).Reactors[0];
        EndPoint? theirs;
        using (await HeldReactor.HoldAsync(reactor))
        {
            Peer peer = await ConnectAsync(listener.EndPoint);
            theirs = peer.Socket.LocalEndPoint;
            await peer.SendAsync("last words");
            peer.Reset();
        }

        ConnectionContext connection = await AcceptAsync(listener);
        Assert.Equal(theirs, connection.RemoteEndPoint);
        Assert.Equal(listener.EndPoint, connection.LocalEndPoint);
    }

    private async Task AcceptAsync(IConnectionListener listener, Peer peer)
    {
        ConnectionContext connection = await AcceptAsync(listener);
        Assert.Equal(peer.Socket.LocalEndPoint, connection.RemoteEndPoint);
    }

    private Task UnbindAllAsync() => Task.WhenAll(Listeners.Select(static listener => listener.UnbindAsync().AsTask())).Within();
}
