using System.Buffers;
using System.IO.Pipelines;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Connections;
using Millrace.Tls;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// A connection of the engine as Kestrel's <see cref="ConnectionContext"/>: two pipes, and two pumps between the pipes and the engine. This
/// is the handler of its connection, and ends when both pumps have ended.
/// </summary>
/// <remarks>
/// <code>
/// member                       owner
/// _input                       reactor thread; the watchdog's may break it
/// _output                      reactor thread, or the pool thread whose output it sends; one at a time
/// _ending                      any thread: the first end counts (CAS); carried out on the reactor thread
/// Callbacks                    written by the reactor thread, read by the watchdog's
/// _socket                      any thread, under its lock
/// _id, _hasReturnedSlot        any thread (CAS)
/// features, Transport, Items   Kestrel and the application
///
/// phase                        begins with
/// open                         Serve
/// ending                       the first end that anyone requests (TransportEnding.Begin), which releases both pumps
/// over                         the end of both pumps: the engine's connection may belong to another peer
/// </code>
/// </remarks>
internal sealed class TransportConnection : ConnectionContext,
    IReactorFeature,
    IConnectionIdFeature,
    IConnectionTransportFeature,
    IConnectionItemsFeature,
    IConnectionLifetimeFeature,
    IConnectionSocketFeature,
    IConnectionEndPointFeature,
    IMemoryPoolFeature
{
    /// <summary>The transport's own and Kestrel's.</summary>
    private const int FeaturesUsual = 16;

    private readonly Reactor _reactor;
    private readonly EndPointSettings _settings;
    private readonly IDuplexPipe _application;
    private readonly ConnectionSocket _socket;
    private readonly TransportEnding _ending;
    private readonly InputPump _input;
    private readonly OutputPump _output;
    private Task _serving = Task.CompletedTask;
    private string? _id;
    private IDictionary<object, object?>? _items;
    private bool _hasReturnedSlot;

    /// <param name="connection">The engine's connection. Called on its reactor's thread.</param>
    /// <param name="pipes">The reactor's pipes.</param>
    /// <param name="settings">The endpoint's settings.</param>
    /// <param name="log">The transport's log.</param>
    public TransportConnection(Connection connection, ConnectionPipes pipes, EndPointSettings settings, TransportLog log)
    {
        _reactor = connection.Reactor;
        _settings = settings;
        (_application, IDuplexPipe transport, ReactorScheduler? scheduler) = pipes.Make(connection);
        var reader = _application.Input as ReactorPipeReader;
        _ending = new TransportEnding(this, connection, transport, log);
        _input = new InputPump(this, connection, transport.Output, reader, _ending, log);
        _output = new OutputPump(connection, transport.Input, _ending);
        if (scheduler is not null)
        {
            var prefetch = new RequestPrefetch(this, connection, reader!, _ending);
            var writer = (NonBlockingFlushPipeWriter)_application.Output;
            Callbacks = new CallbackOwner(this, scheduler, reader!, writer, _input, _ending, prefetch, settings.Policies, log);
            scheduler.Owner = Callbacks;
        }

        connection.AddToPrefetch(this, PrefetchRanges.Connection, CompletionKinds.Either);
        connection.AddToPrefetch(_ending, PrefetchRanges.Ending, CompletionKinds.Either);
        connection.AddToPrefetch(_input, PrefetchRanges.Pumps, CompletionKinds.Either);
        connection.Duplicate = _socket = new ConnectionSocket(connection.Descriptor);
        MemoryPool = pipes.Memory;
        Transport = _application;
        Features = CreateFeatures(connection.GetTlsSession() is { } session ? new ConnectionTls(session) : null);
        ConnectionClosed = _ending.Closed;
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
    public bool HasOwnTransport => IsOwn(Transport);

    /// <summary>Whether these pipes are the ones that it made.</summary>
    public bool IsOwn(IDuplexPipe transport) => transport == _application;

    /// <summary>The application's code on the reactor; null where it runs on the thread pool.</summary>
    public CallbackOwner? Callbacks { get; }

    Reactor IReactorFeature.Reactor => _reactor;

    Socket IConnectionSocketFeature.Socket => _socket.Get();

    /// <summary>Runs the connection until it ends. Reactor thread.</summary>
    public Task Serve() => _serving = ServeAsync();

    /// <summary>
    /// Ends the connection at once: with a reset, or with a FIN if the settings say so or the reason is null. Kestrel passes null when the
    /// peer has finished and it gives the connection up.
    /// </summary>
    public override void Abort(ConnectionAbortedException abortReason)
    {
        EndKind kind = abortReason is null || _settings.Options.FinOnError ? EndKind.Finish : EndKind.Reset;
        _ending.Begin(kind, abortReason ?? new ConnectionAbortedException("Kestrel gave up the connection after its peer finished."));
    }

    void IConnectionLifetimeFeature.Abort() =>
        Abort(new ConnectionAbortedException("The connection was aborted by the application via IConnectionLifetimeFeature.Abort()."));

    /// <summary>The connection was never handed to Kestrel, and may never be disposed of: it is reset, and both pumps end.</summary>
    public void Refuse()
    {
        ReturnSlot();
        Abort(new ConnectionAbortedException("The listener has stopped."));
        CompleteApplication();
    }

    public override async ValueTask DisposeAsync()
    {
        ReturnSlot();
        CompleteApplication();
        await _serving;
        await _ending.DisposeAsync();
        await base.DisposeAsync();
    }

    /// <summary>Waits for both pumps, whatever one ends with: after this the engine's connection belongs to another peer.</summary>
    private async Task ServeAsync()
    {
        try
        {
            await Task.WhenAll(_input.RunAsync(), _output.RunAsync());
        }
        finally
        {
            _socket.Refuse();
            await _ending.EndOnReactorAsync();
        }
    }

    /// <summary>The features of the contract, with TLS those of a completed handshake. Kestrel and the application add theirs.</summary>
    private FeatureCollection CreateFeatures(ConnectionTls? tls)
    {
        var features = new FeatureCollection(FeaturesUsual);
        features.Set<IReactorFeature>(this);
        features.Set<IConnectionIdFeature>(this);
        features.Set<IConnectionTransportFeature>(this);
        features.Set<IConnectionItemsFeature>(this);
        features.Set<IConnectionLifetimeFeature>(this);
        features.Set<IConnectionSocketFeature>(this);
        features.Set<IConnectionEndPointFeature>(this);
        features.Set<IMemoryPoolFeature>(this);
        features.Set<ITlsConnectionFeature>(tls);
        features.Set<ITlsHandshakeFeature>(tls);
        features.Set<ITlsApplicationProtocolFeature>(tls);
        features.Set<ITlsKeyExchangeFeature>(tls);
        return features;
    }

    private void CompleteApplication()
    {
        _application.Input.Complete();
        _application.Output.Complete();
    }

    /// <summary>Returns the slot once, even if the connection is disposed of twice.</summary>
    private void ReturnSlot()
    {
        if (!Interlocked.Exchange(ref _hasReturnedSlot, true))
        {
            _settings.Quota?.Return();
        }
    }
}
