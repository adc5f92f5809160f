using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Tests.Multiplexed.Kit;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;
using ConnectionContext = Microsoft.AspNetCore.Connections.ConnectionContext;

namespace Millrace.AspNetCore.Tests.Multiplexed;

/// <summary>The listener and the connections of the transport over QUIC, as Kestrel uses them.</summary>
public class ConnectionContractTests : MultiplexedTest
{
    [Fact]
    public async Task The_listener_says_which_port_it_has()
    {
        IMultiplexedConnectionListener listener = await BindAsync();
        Assert.NotEqual(0, ((IPEndPoint)listener.EndPoint).Port);
        Http3TestConnection peer = await ConnectAsync(listener);
        MultiplexedConnectionContext connection = await AcceptAsync(listener);
        Assert.Equal(listener.EndPoint, connection.LocalEndPoint);
        Assert.Equal(IPAddress.Loopback, ((IPEndPoint)connection.RemoteEndPoint!).Address);
        Assert.Equal(Client.Loop.Port, ((IPEndPoint)connection.RemoteEndPoint!).Port);
        Assert.False(peer.HasClosed);
    }

    [Fact]
    public async Task A_port_that_is_taken_is_an_address_in_use()
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Dgram, ProtocolType.Udp);
        socket.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await Assert.ThrowsAsync<AddressInUseException>(() => BindAsync(socket.LocalEndPoint));
    }

    [Fact]
    public async Task Without_tls_nothing_is_bound()
    {
        await Assert.ThrowsAsync<InvalidOperationException>(
            () => Factory.BindAsync(new IPEndPoint(IPAddress.Loopback, 0), new FeatureCollection()).AsTask());
    }

    [Fact]
    public async Task An_endpoint_that_is_no_ip_address_is_not_served_and_does_not_fail()
    {
        IMultiplexedConnectionListener listener = await BindAsync(new UnixDomainSocketEndPoint("/nowhere"));
        Task<MultiplexedConnectionContext?> accepted = listener.AcceptAsync().AsTask();
        Assert.False(accepted.IsCompleted);
        await listener.UnbindAsync();
        Assert.Null(await accepted.Within());
        Assert.Contains("EndPointLeft", Logs.Names);
    }

    [Fact]
    public async Task An_unbound_listener_ends_its_accept_loop_and_its_connections_continue()
    {
        IMultiplexedConnectionListener listener = await BindAsync();
        Http3TestConnection peer = await ConnectAsync(listener);
        MultiplexedConnectionContext connection = await AcceptAsync(listener);
        Task<MultiplexedConnectionContext?> next = listener.AcceptAsync().AsTask();
        await listener.UnbindAsync().AsTask().Within();
        Assert.Null(await next.Within());
        Http3TestException refused = await Assert.ThrowsAsync<Http3TestException>(() => ConnectAsync(listener));
        Assert.Equal((long)Millrace.Quic.TransportErrorCode.ConnectionRefused, refused.Reason!.Value.Code);

        await peer.SendAsync("still".Ascii());
        Assert.NotNull(await connection.AcceptAsync().Within());
    }

    [Fact]
    public async Task A_connection_has_the_features_of_the_contract()
    {
        (_, MultiplexedConnectionContext connection) = await PairAsync();
        IFeatureCollection features = connection.Features;
        Assert.Equal(-1, features.GetRequiredFeature<IProtocolErrorCodeFeature>().Error);
        Assert.NotNull(features.Get<IMemoryPoolFeature>()!.MemoryPool);
        Assert.Same(connection, features.Get<IConnectionIdFeature>());
        Assert.Same(connection, features.Get<IConnectionLifetimeFeature>());
        Assert.NotNull(features.Get<ITlsConnectionFeature>());
        Assert.Equal("localhost", features.Get<ITlsHandshakeFeature>()!.HostName);
        Assert.NotNull(features.Get<IReactorFeature>()!.Reactor);
        Assert.Matches("^[0-9A-V]{13}$", connection.ConnectionId);
        connection.Items["mine"] = 1;
        Assert.Single(connection.Items);
    }

    [Fact]
    public async Task This_end_opens_streams()
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        var features = new FeatureCollection();
        features.Set<IStreamDirectionFeature>(new OneWay());
        ConnectionContext stream = await connection.ConnectAsync(features).Within();
        IStreamDirectionFeature direction = stream.Features.GetRequiredFeature<IStreamDirectionFeature>();
        Assert.Equal((false, true), (direction.CanRead, direction.CanWrite));
        Assert.Equal(3, stream.Features.GetRequiredFeature<IStreamIdFeature>().StreamId);
        await stream.Transport.Output.WriteAsync(Http3Bytes.Number(0x55)).Within();
        await Waiting.UntilAsync(() => peer.StreamTypes.Contains(0x55), "the stream arrived");
    }

    [Fact]
    public async Task A_stream_that_nobody_waits_for_any_more_is_not_opened()
    {
        (_, MultiplexedConnectionContext connection) = await PairAsync();
        var features = new FeatureCollection();
        features.Set<IStreamDirectionFeature>(new OneWay());
        await Assert.ThrowsAnyAsync<OperationCanceledException>(
            () => connection.ConnectAsync(features, new CancellationToken(canceled: true)).AsTask().Within());
        ConnectionContext stream = await connection.ConnectAsync(features).Within();
        Assert.Equal(3, stream.Features.GetRequiredFeature<IStreamIdFeature>().StreamId);
    }

    [Fact]
    public async Task A_wait_for_a_stream_can_be_canceled()
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        using var cancellation = new CancellationTokenSource();
        Task<ConnectionContext?> accepted = connection.AcceptAsync(cancellation.Token).AsTask();
        await cancellation.CancelAsync();
        Assert.Null(await accepted.Within());
        Assert.Null(await connection.AcceptAsync(cancellation.Token).Within());
        await peer.SendAsync("later".Ascii());
        Assert.NotNull(await connection.AcceptAsync().Within());
    }

    [Fact]
    public async Task An_abort_closes_the_connection_with_the_code_that_was_set()
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        Task<bool> closed = connection.ConnectionClosed.FiredAsync();
        Task<ConnectionContext?> accepted = connection.AcceptAsync().AsTask();
        connection.Features.GetRequiredFeature<IProtocolErrorCodeFeature>().Error = 0x42;
        var reason = new ConnectionAbortedException("enough");
        await Task.Run(() => connection.Abort(reason));
        connection.Abort();
        CloseReason end = await peer.Closed;
        Assert.Equal((CloseSource.Peer, true, 0x42L), (end.Source, end.IsApplication, end.Code));
        Assert.Same(reason, await Assert.ThrowsAsync<ConnectionAbortedException>(() => accepted));
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => connection.AcceptAsync().AsTask());
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => connection.ConnectAsync().AsTask());
        Assert.True(await closed);
    }

    [Fact]
    public async Task The_peers_close_ends_streams_and_waits_with_its_code()
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        Task<bool> closed = connection.ConnectionClosed.FiredAsync();
        await peer.SendAsync((byte[])[1], isEnd: false);
        ConnectionContext stream = (await connection.AcceptAsync().Within())!;
        Task<ConnectionContext?> next = connection.AcceptAsync().AsTask();
        peer.Close(0x43);
        await Assert.ThrowsAsync<ConnectionResetException>(() => next);
        Assert.Equal(0x43, connection.Features.GetRequiredFeature<IProtocolErrorCodeFeature>().Error);
        Assert.True(await closed);
        Assert.True((await stream.Transport.Output.WriteAsync(new byte[10]).Within()).IsCompleted);
        await stream.DisposeAsync().AsTask().Within();
        Assert.Contains("ConnectionAborted", Logs.Names);
    }

    [Fact]
    public async Task Disposal_closes_the_connection_in_order()
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        await connection.DisposeAsync().AsTask().Within();
        CloseReason end = await peer.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.NoError), (end.Source, end.IsApplication, end.Code));
    }

    [Fact]
    public async Task Disposal_waits_for_the_callbacks_of_ConnectionClosed()
    {
        (_, MultiplexedConnectionContext connection) = await PairAsync();
        using var release = new ManualResetEventSlim();
        connection.ConnectionClosed.Register(() => release.Wait(TimeSpan.FromSeconds(30)));
        Task disposal = connection.DisposeAsync().AsTask();

        // Sleeps: that the disposal does not end has no event.
        await Task.Delay(100);
        Assert.False(disposal.IsCompleted);
        release.Set();
        await disposal.Within();
    }

    [Fact]
    public async Task Connections_that_nobody_accepted_are_closed_with_the_listener()
    {
        IMultiplexedConnectionListener listener = await BindAsync();
        Http3TestConnection peer = await ConnectAsync(listener);
        await Waiting.UntilAsync(() => Logs.Names.Contains("AcceptedConnection"), "the connection is queued");
        await listener.DisposeAsync().AsTask().Within();
        Assert.Equal(CloseSource.Peer, (await peer.Closed).Source);
    }

    [Fact]
    public async Task A_server_that_ends_closes_what_nobody_ended()
    {
        (Http3TestConnection peer, MultiplexedConnectionContext connection) = await PairAsync();
        await peer.SendAsync((byte[])[1], isEnd: false);
        ConnectionContext stream = (await connection.AcceptAsync().Within())!;
        await Transport.DisposeAsync().AsTask().Within();
        await stream.DisposeAsync().AsTask().Within();
        await connection.DisposeAsync().AsTask().Within();
    }

    private sealed class OneWay : IStreamDirectionFeature
    {
        public bool CanRead => false;

        public bool CanWrite => true;
    }
}
