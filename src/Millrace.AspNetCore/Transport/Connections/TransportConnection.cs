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
/// A connection of the engine as Kestrel's <see cref="ConnectionContext"/>: two pipes, and two pumps between the pipes and the engine. The
/// pumps run on the reactor's thread, except that output written on other threads is sent from there. This is the handler of its
/// connection, and ends when both pumps have ended. Kestrel may call its members on any thread.
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

    /// <param name="connection">The engine's connection. Called on its reactor's thread.</param>
    /// <param name="pipes">The reactor's pipes.</param>
    /// <param name="settings">The endpoint's settings.</param>
    /// <param name="log">The transport's log.</param>
    public TransportConnection(Connection connection, ConnectionPipes pipes, EndPointSettings settings, TransportLog log)
    {
        _connection = connection;
        _reactor = connection.Reactor;
        _settings = settings;
        _log = log;
        connection.AddToPrefetch(this, Own, CompletionKinds.Either);
        (_application, IDuplexPipe transport, _scheduler) = pipes.Make(this, connection);
        _input = _application.Input as ReactorPipeReader;
        _output = _application.Output as NonBlockingFlushPipeWriter;
        (_toSend, _received) = (transport.Input, transport.Output);
        connection.Duplicate = _socket = new ConnectionSocket(connection.Descriptor);
        MemoryPool = pipes.Memory;
        Transport = _application;
        Features = new ConnectionFeatures(this, connection.GetTlsSession() is { } session ? new ConnectionTls(session) : null);
        ConnectionClosed = _closed.Token;
        LocalEndPoint = connection.LocalEndPoint;
        RemoteEndPoint = connection.RemoteEndPoint;
        // Last, as an exception before this point must not leave a slot taken.
        settings.Quota?.Take();
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

    /// <summary>Middleware such as TLS replaces and restores it; the original stays in <see cref="_application"/>.</summary>
    public override IDuplexPipe Transport { get; set; }

    public MemoryPool<byte> MemoryPool { get; }

    /// <summary>Whether no middleware has replaced the pipes.</summary>
    public bool IsOwn(IDuplexPipe transport) => transport == _application;

    /// <summary>Runs the connection until it ends. Reactor thread.</summary>
    public Task Serve() => _serving = ServeAsync();

    public override async ValueTask DisposeAsync()
    {
        ReturnSlot();
        _application.Input.Complete();
        _application.Output.Complete();
        await _serving;
        await _closedReported.Task;
        _closed.Dispose();
        await base.DisposeAsync();
    }

    /// <summary>Waits for both pumps, whatever one ends with: after this the engine's connection belongs to another peer.</summary>
    private async Task ServeAsync()
    {
        try
        {
            await Task.WhenAll(ReceiveAsync(), SendAsync());
        }
        finally
        {
            _socket.Refuse();
            await EndOnReactorAsync();
        }
    }
}
