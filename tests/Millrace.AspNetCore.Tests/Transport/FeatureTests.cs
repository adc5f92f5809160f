using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Tests.Transport.Kit;
using Millrace.Engine;

namespace Millrace.AspNetCore.Tests.Transport;

/// <summary>What the layers above find at a connection, and what they may change.</summary>
public class FeatureTests : TransportTest
{
    [Fact]
    public async Task The_features_of_the_contract_are_there()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        IFeatureCollection features = connection.Features;
        Assert.Equal(connection.ConnectionId, features.Get<IConnectionIdFeature>()?.ConnectionId);
        Assert.Same(connection.Transport, features.Get<IConnectionTransportFeature>()?.Transport);
        Assert.Same(connection.Items, features.Get<IConnectionItemsFeature>()?.Items);
        Assert.Equal(connection.ConnectionClosed, features.Get<IConnectionLifetimeFeature>()?.ConnectionClosed);
        Assert.Equal(peer.Socket.LocalEndPoint, features.Get<IConnectionEndPointFeature>()?.RemoteEndPoint);
        Assert.Equal(peer.Socket.RemoteEndPoint, features.Get<IConnectionEndPointFeature>()?.LocalEndPoint);
        Assert.Equal(4096, features.Get<IMemoryPoolFeature>()?.MemoryPool.MaxBufferSize);
        Assert.Equal(8, features.Count());
    }

    [Fact]
    public async Task The_transport_can_be_replaced_and_put_back()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        IDuplexPipe original = connection.Transport;
        connection.Transport = new Replacement(original);
        Assert.IsType<Replacement>(connection.Features.Get<IConnectionTransportFeature>()!.Transport);
        connection.Transport = original;
        await connection.Transport.Output.WriteAsync("x".Ascii()).Within();
        Assert.Equal("x", await peer.ReceiveAsync(1));
    }

    [Fact]
    public async Task A_connection_whose_transport_was_replaced_is_disposed_of_all_the_same()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        connection.Transport = new Replacement(new Pipe());
        await connection.DisposeAsync().AsTask().Within();
        Assert.Empty(await peer.ReceiveToEndAsync());
    }

    [Fact]
    public async Task Features_of_others_are_kept_replaced_and_removed()
    {
        (_, ConnectionContext connection) = await PairAsync();
        IFeatureCollection features = connection.Features;
        int revision = features.Revision;
        for (int i = 0; i < 40; i++)
        {
            features[typeof(int).MakeArrayType(1 + (i % 20))] = i;
        }

        Assert.Equal(28, features.Count());
        Assert.Equal(39, features[typeof(int).MakeArrayType(20)]);
        features.Set<IConnectionItemsFeature>(null);
        features.Set<IConnectionItemsFeature>(null);
        Assert.Null(features.Get<IConnectionItemsFeature>());
        Assert.Equal(27, features.Count());
        Assert.NotEqual(revision, features.Revision);
    }

    [Fact]
    public async Task The_socket_is_there_until_the_connection_has_ended()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Socket socket = connection.Features.Get<IConnectionSocketFeature>()!.Socket;
        Assert.Equal(peer.Socket.LocalEndPoint, socket.RemoteEndPoint);
        Assert.True(socket.NoDelay);
        Assert.Same(socket, connection.Features.Get<IConnectionSocketFeature>()!.Socket);
        Reactor reactor = connection.Features.Get<IReactorFeature>()!.Reactor;
        await connection.DisposeAsync().AsTask().Within();
        Assert.Throws<ObjectDisposedException>(() => connection.Features.Get<IConnectionSocketFeature>()!.Socket);
        // It was not the object's to close: the peer sees the end that the engine gave it.
        Assert.Empty(await peer.ReceiveToEndAsync());
        peer.Dispose();
        await Waiting.UntilAsync(() => reactor.Connections.Count == 0, "the engine's connection ended");
        Assert.Throws<ObjectDisposedException>(() => socket.NoDelay);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    [Trait("Duration", "Full")]
    public async Task The_socket_is_refused_once_the_engine_has_closed_its_own(bool hasItBefore)
    {
        Options.MaxReadBufferSize = 1;
        (Peer peer, ConnectionContext connection) = await PairAsync();
        IConnectionSocketFeature feature = connection.Features.Get<IConnectionSocketFeature>()!;
        Socket? socket = hasItBefore ? feature.Socket : null;
        await peer.SendAsync(new byte[100_000]);
        await ReceivePausedAsync();

        // The application has the connection still, and the descriptor's number is anybody's.
        await Factory.DisposeAsync().AsTask().Within();

        Assert.Throws<ObjectDisposedException>(() => socket is null ? feature.Socket.NoDelay : socket.NoDelay);
        await peer.ExpectResetAsync();
        connection.Transport.Input.Complete();
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_socket_that_somebody_has_does_not_put_off_the_connections_end(bool isAborted)
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        Socket socket = connection.Features.Get<IConnectionSocketFeature>()!.Socket;
        if (isAborted)
        {
            connection.Abort(new ConnectionAbortedException("enough"));
            await peer.ExpectResetAsync();
        }
        else
        {
            connection.Abort(null!);
            Assert.Empty(await peer.ReceiveToEndAsync());
        }

        GC.KeepAlive(socket);
    }

    [Fact]
    public async Task A_socket_that_somebody_disposes_of_leaves_the_connection_open()
    {
        (Peer peer, ConnectionContext connection) = await PairAsync();
        connection.Features.Get<IConnectionSocketFeature>()!.Socket.Dispose();
        await connection.Transport.Output.WriteAsync("answer".Ascii()).Within();
        Assert.Equal("answer", await peer.ReceiveAsync(6));
        await connection.DisposeAsync().AsTask().Within();
        Assert.Empty(await peer.ReceiveToEndAsync());
    }

    [Fact]
    public async Task NoDelay_can_be_switched_off_for_one_address()
    {
        Options.ConfigureEndPoint = static (endPoint, own) => own.NoDelay = ((IPEndPoint)endPoint).Address.Equals(IPAddress.Loopback);
        (_, ConnectionContext connection) = await PairAsync();
        (_, ConnectionContext other) = await PairAsync(new IPEndPoint(IPAddress.Parse("127.0.0.2"), 0));
        Assert.True(connection.Features.Get<IConnectionSocketFeature>()!.Socket.NoDelay);
        Assert.False(other.Features.Get<IConnectionSocketFeature>()!.Socket.NoDelay);
        Assert.True(Options.NoDelay);
    }

    [Fact]
    public async Task Ids_are_unique_and_of_Kestrels_form()
    {
        IConnectionListener listener = await BindAsync();
        var ids = new HashSet<string>();
        for (int i = 0; i < 100; i++)
        {
            await ConnectAsync(listener.EndPoint);
            ids.Add((await AcceptAsync(listener)).ConnectionId);
        }

        Assert.Equal(100, ids.Count);
        Assert.All(ids, static id => Assert.Matches("^[0-9A-V]{13}$", id));
    }

    private sealed class Replacement(PipeReader input, PipeWriter output) : IDuplexPipe
    {
        public Replacement(IDuplexPipe inner)
            : this(inner.Input, inner.Output)
        {
        }

        public Replacement(Pipe pipe)
            : this(pipe.Reader, pipe.Writer)
        {
        }

        public PipeReader Input { get; } = input;

        public PipeWriter Output { get; } = output;
    }
}
