using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Transport;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Transport.Kit;

/// <summary>A transport without Kestrel: its listener and its connections as Kestrel sees them, against plain sockets.</summary>
public abstract class TransportTest : IAsyncLifetime
{
    internal static readonly IPEndPoint AnyPort = new(IPAddress.Loopback, 0);

    private readonly List<IDisposable> _peers = [];
    private readonly List<ConnectionContext> _connections = [];
    private readonly List<IConnectionListener> _listeners = [];
    private MillraceTransportFactory? _factory;

    internal Logs Logs { get; } = new();

    /// <summary>Whether a test of this class is about what is logged as an error.</summary>
    protected virtual bool ExpectsErrors => false;

    internal MillraceTransportOptions Options { get; } = new() { ReactorCount = 1, Backend = AskedBackend.Kind };

    /// <summary>The factory, of the options as they are when it is first used.</summary>
    internal MillraceTransportFactory Factory =>
        _factory ??= new MillraceTransportFactory(
            Microsoft.Extensions.Options.Options.Create(Options),
            Logs,
            new TransportLog(Logs.CreateLogger(TransportLog.Category)),
            KestrelPools.Factory);

    public ValueTask InitializeAsync() => default;

    /// <summary>As Kestrel ends: connections, then listeners, then the container.</summary>
    public async ValueTask DisposeAsync()
    {
        _peers.ForEach(static peer => peer.Dispose());
        foreach (ConnectionContext connection in _connections)
        {
            await connection.DisposeAsync().AsTask().Within();
        }

        foreach (IConnectionListener listener in _listeners)
        {
            await listener.DisposeAsync().AsTask().Within();
        }

        if (_factory is not null)
        {
            await _factory.DisposeAsync().AsTask().Within();
        }

        Assert.True(ExpectsErrors || Logs.Entries.All(static entry => entry.Level <= LogLevel.Warning));
        GC.SuppressFinalize(this);
    }

    internal IReadOnlyList<IConnectionListener> Listeners => _listeners;

    internal async Task<IConnectionListener> BindAsync(EndPoint? endPoint = null)
    {
        IConnectionListener listener = await Factory.BindAsync(endPoint ?? AnyPort).Within();
        _listeners.Add(listener);
        return listener;
    }

    internal async Task<Peer> ConnectAsync(EndPoint endPoint, int? receiveBufferBytes = null)
    {
        Peer peer = await Peer.ConnectAsync(endPoint, receiveBufferBytes);
        _peers.Add(peer);
        return peer;
    }

    internal async Task<ConnectionContext> AcceptAsync(IConnectionListener listener)
    {
        ConnectionContext? connection = await listener.AcceptAsync().Within();
        Assert.NotNull(connection);
        _connections.Add(connection);
        return connection;
    }

    /// <summary>The application has as much as it takes unread, and the transport receives no more for it.</summary>
    internal Task ReceivePausedAsync() => Waiting.UntilAsync(() => Logs.Names.Contains("ConnectionPause"), "the receive paused");

    /// <summary>Both ends of a connection.</summary>
    internal async Task<(Peer Peer, ConnectionContext Connection)> PairAsync(EndPoint? endPoint = null, int? receiveBufferBytes = null)
    {
        IConnectionListener listener = await BindAsync(endPoint);
        Peer peer = await ConnectAsync(listener.EndPoint, receiveBufferBytes);
        return (peer, await AcceptAsync(listener));
    }
}
