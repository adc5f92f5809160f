using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Tls;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// A connection of the engine as Kestrel knows connections: two pipes, between which and the engine two pumps run on the reactor's
/// thread, but for what is written elsewhere and sent from there. It is the handler of its connection, and ends when both pumps have.
/// What Kestrel may call, it may call from any thread.
/// </summary>
internal sealed partial class TransportConnection : ConnectionContext,
    IConnectionIdFeature,
    IConnectionTransportFeature,
    IConnectionItemsFeature,
    IConnectionLifetimeFeature,
    IConnectionEndPointFeature,
    IMemoryPoolFeature
{
    private readonly Connection _connection;
    private readonly Reactor _reactor;
    private readonly EndPointSettings _settings;
    private readonly TransportLog _log;
    private readonly IDuplexPipe _application;
    private readonly PipeWriter _received;
    private readonly PipeReader _toSend;
    private readonly CancellationTokenSource _closed = new();
    private Task _serving = Task.CompletedTask;
    private string? _id;
    private IDictionary<object, object?>? _items;

    /// <param name="connection">The engine's connection, whose handler this is. Its reactor's thread.</param>
    /// <param name="pipes">The reactor's pipes.</param>
    /// <param name="settings">The address's.</param>
    /// <param name="log">The transport's.</param>
    public TransportConnection(Connection connection, ConnectionPipes pipes, EndPointSettings settings, TransportLog log)
    {
        _connection = connection;
        _reactor = connection.Reactor;
        _settings = settings;
        _log = log;
        connection.AddToFootprint(this, Own, Occasion.Either);
        (_application, IDuplexPipe transport, _home) = pipes.Make(this, connection);
        _input = _application.Input as HomingPipeReader;
        _output = _application.Output as RelievedPipeWriter;
        (_toSend, _received) = (transport.Input, transport.Output);
        connection.Duplicate = _socket = new ConnectionSocket(connection.Descriptor);
        MemoryPool = pipes.Memory;
        Transport = _application;
        Features = new ConnectionFeatures(this, connection.GetTlsSession() is { } session ? new ConnectionTls(session) : null);
        ConnectionClosed = _closed.Token;
        settings.Places?.Take();
        LocalEndPoint = connection.LocalEndPoint;
        RemoteEndPoint = connection.RemoteEndPoint;
    }

    public override string ConnectionId
    {
        get => _id ?? Interlocked.CompareExchange(ref _id, ConnectionIds.Next(), null) ?? _id;
        set => _id = value;
    }

    public override IFeatureCollection Features { get; }

    public override IDictionary<object, object?> Items
    {
        get => _items ??= new ConnectionItems();
        set => _items = value;
    }

    /// <summary>Replaced, and put back, by middleware such as TLS; ours stays in <see cref="_application"/>.</summary>
    public override IDuplexPipe Transport { get; set; }

    public MemoryPool<byte> MemoryPool { get; }

    /// <summary>Whether nobody has put pipes of his own over ours.</summary>
    public bool IsOwn(IDuplexPipe transport) => transport == _application;

    /// <summary>Runs the connection to its end. Reactor thread.</summary>
    public Task Serve() => _serving = ServeAsync();

    public override async ValueTask DisposeAsync()
    {
        ReturnPlace();
        _application.Input.Complete();
        _application.Output.Complete();
        await _serving;
        await _closedWasTold.Task;
        _closed.Dispose();
        await base.DisposeAsync();
    }

    private async Task ServeAsync()
    {
        Task receiving = ReceiveAsync();
        Task sending = SendAsync();
        await receiving;
        await sending;
        _socket.Refuse();
        await EndAtHomeAsync();
    }
}
