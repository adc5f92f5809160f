using System.Buffers;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Multiplexed.Streams;
using Millrace.AspNetCore.Transport.Connections;
using Millrace.Engine;
using Millrace.Quic;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;
using Millrace.Tls;
using ConnectionContext = Microsoft.AspNetCore.Connections.ConnectionContext;

namespace Millrace.AspNetCore.Multiplexed.Connections;

/// <summary>
/// A connection over QUIC as Kestrel's <see cref="MultiplexedConnectionContext"/>. The members of the contract may be called on any thread;
/// what they ask for is done on the reactor's. How it ends: the first end counts, be it the peer's, Kestrel's abort or its disposal.
/// </summary>
internal sealed class MultiplexedConnection : MultiplexedConnectionContext,
    IReactorFeature,
    IConnectionIdFeature,
    IConnectionItemsFeature,
    IConnectionLifetimeFeature,
    IConnectionEndPointFeature,
    IMemoryPoolFeature,
    IProtocolErrorCodeFeature
{
    private const long NoCode = -1;
    private const byte AlertBadCertificate = 42;

    /// <summary>
    /// Streams that Kestrel has not finished, twice as many as a client may have open: it opens and resets them faster than Kestrel takes
    /// note, and each costs a request (RFC 9114, section 10.5).
    /// </summary>
    private const int UnfinishedMax = 220;

    /// <summary>The transport's own and Kestrel's.</summary>
    private const int FeaturesUsual = 20;

    private static readonly Action<object?> CloseAction = static connection =>
        ((MultiplexedConnection)connection!).Enter(static connection => ((MultiplexedConnection)connection!).Close(), connection);

    private static readonly Action<object?> CloseSentAction = static connection =>
        ((MultiplexedConnection)connection!).Enter(static connection => ((MultiplexedConnection)connection!).CloseSent(), connection);

    private static readonly Action<object?> FailCertificateAction = static connection =>
        ((MultiplexedConnection)connection!).Enter(static connection => ((MultiplexedConnection)connection!).FailCertificate(), connection);

    private readonly QuicServerConnection _quic;
    private readonly AcceptedStreams _accepted;
    private readonly OpenedStreams _opened;
    private readonly StreamReuse _reuse = new();

    /// <summary>Those whose QUIC stream exists. Reactor thread.</summary>
    private readonly LinkedList<StreamConnection> _live = new();
    private readonly CancellationTokenSource _closed = new();
    private readonly TaskCompletionSource _over = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private string? _id;
    private IDictionary<object, object?>? _items;
    private ConnectionAbortedException? _abortReason;
    private long _error = NoCode;
    private int _unfinished;
    private bool _isDisposing;
    private bool _hasReuseTimer;

    /// <param name="quic">The connection. Called on its reactor's thread.</param>
    /// <param name="pipes">The options of its streams' pipes.</param>
    /// <param name="log">The transport's log.</param>
    public MultiplexedConnection(QuicServerConnection quic, StreamPipeOptions pipes, MultiplexedLog log)
    {
        _quic = quic;
        Pipes = pipes;
        Log = log;
        _accepted = new AcceptedStreams(pipes.ContinuesOnPool);
        _opened = new OpenedStreams(this);
        ConnectionClosed = _closed.Token;
        Features = CreateFeatures();
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

    public MemoryPool<byte> MemoryPool => Pipes.Memory;

    /// <summary>The code of the peer's close, or the one with which this end is to close; -1 for none.</summary>
    public long Error
    {
        get => Volatile.Read(ref _error);
        set
        {
            Http3Code.Require(value);
            Volatile.Write(ref _error, value);
        }
    }

    public StreamPipeOptions Pipes { get; }

    public MultiplexedLog Log { get; }

    public Reactor Reactor => _quic.Reactor;

    /// <summary>The end was reported, or there is no reactor. Reactor thread.</summary>
    public bool HasEnded => _quic.IsClosed || _accepted.HasEnded;

    /// <summary>The handshake is complete. Reactor thread, before Kestrel has the connection.</summary>
    public ConnectionTls SetSession(TlsSession session)
    {
        var tls = new ConnectionTls(session);
        Features.Set<ITlsConnectionFeature>(tls);
        Features.Set<ITlsHandshakeFeature>(tls);
        Features.Set<ITlsApplicationProtocolFeature>(tls);
        Features.Set<ITlsKeyExchangeFeature>(tls);
        return tls;
    }

    public override ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default) =>
        _accepted.TakeAsync(cancellationToken);

    /// <summary>Opens a stream, as soon as the client allows one more.</summary>
    /// <exception cref="ConnectionAbortedException">The connection has ended.</exception>
    public override ValueTask<ConnectionContext> ConnectAsync(
        IFeatureCollection? features = null, CancellationToken cancellationToken = default)
    {
        bool isBidirectional = features?.Get<IStreamDirectionFeature>()?.CanRead ?? true;
        return new ValueTask<ConnectionContext>(_opened.OpenAsync(isBidirectional, cancellationToken));
    }

    public override void Abort() => Abort(new ConnectionAbortedException(
        "The connection was aborted by the application via MultiplexedConnectionContext.Abort()."));

    /// <summary>Closes the connection at once, with <see cref="Error"/> as code.</summary>
    public override void Abort(ConnectionAbortedException abortReason)
    {
        if (Interlocked.CompareExchange(ref _abortReason, abortReason, null) is null)
        {
            Log.ConnectionAbort(ConnectionId, Error >= 0 ? Error : Http3Code.NoError, abortReason.Message);
            RunOnReactor(CloseAction, this);
        }
    }

    /// <summary>Waits for the callbacks of <see cref="BaseConnectionContext.ConnectionClosed"/> too.</summary>
    public override async ValueTask DisposeAsync()
    {
        if (!Interlocked.Exchange(ref _isDisposing, true))
        {
            RunOnReactor(CloseAction, this);
        }

        await _over.Task;
        _closed.Dispose();
        await base.DisposeAsync();
    }

    /// <summary>The connection was never handed to Kestrel, and may never be disposed of. Any thread.</summary>
    public void Refuse() => Abort(new ConnectionAbortedException("The listener has stopped."));

    /// <summary>The client's certificate was refused after the handshake: the alert follows late. Any thread.</summary>
    public void RefuseCertificate() => RunOnReactor(FailCertificateAction, this);

    /// <summary>
    /// Runs an action on the reactor, later: the caller may be inside another operation and may hold locks. The action begins with
    /// <see cref="Enter"/>, as it runs on the thread pool if the reactor has ended. Any thread.
    /// </summary>
    public void RunOnReactor(Action<object?> action, object? state)
    {
        if (Reactor.IsReactorThread)
        {
            Reactor.Defer(action, state);
        }
        else
        {
            Reactor.PostContinuation(action, state);
        }
    }

    /// <summary>
    /// Runs an action that was posted to the reactor. If the reactor has ended (a server's end that did not wait for its listeners), the
    /// connection and its streams end here first, so that nobody waits for them. An exception ends the connection, and not the reactor.
    /// </summary>
    public void Enter(Action<object?> action, object? state)
    {
        if (Reactor.IsReactorThread)
        {
            _quic.Run(action, state);
            return;
        }

        lock (_live)
        {
            EndAll(new ConnectionResetException("The connection was reset: its reactor has ended."));
            action(state);
        }
    }

    /// <summary>Reactor thread.</summary>
    public void ScheduleSend() => _quic.ScheduleSend();

    /// <summary>Opens a stream for Kestrel; null while the client allows none. Reactor thread.</summary>
    public StreamConnection? TryOpen(bool isBidirectional)
    {
        if (!_quic.Connection.Streams.TryOpen(isBidirectional, out QuicStream? stream))
        {
            // STREAMS_BLOCKED, if it has not been sent.
            ScheduleSend();
            return null;
        }

        var opened = new StreamConnection(this);
        Begin(opened, stream!);
        return opened;
    }

    /// <summary>Something happened to a stream. Reactor thread.</summary>
    public void OnStream(QuicStream stream, StreamEvents events)
    {
        if (!events.HasFlag(StreamEvents.Opened))
        {
            OnEvents(stream, events);
            return;
        }

        if ((events & (StreamEvents.Reset | StreamEvents.Closed)) != 0)
        {
            // Its client has reset it before Kestrel could see it: it costs Kestrel nothing.
            stream.Abort(Http3Code.RequestCancelled);
            return;
        }

        if (!stream.IsBidirectional || !_reuse.TryTake(out StreamConnection? accepted))
        {
            accepted = new StreamConnection(this);
        }

        Begin(accepted, stream);
        OnEvents(stream, events & ~(StreamEvents.Opened | StreamEvents.Readable));
        _accepted.Add(accepted);
        if (++_unfinished > UnfinishedMax)
        {
            _quic.Close(Http3Code.ExcessiveLoad, "");
        }
    }

    /// <summary>A stream that the client has opened is over, and Kestrel knows. Reactor thread.</summary>
    public void OnStreamOver() => _unfinished--;

    /// <summary>The client allows more streams. Reactor thread.</summary>
    public void OnStreamsAvailable() => _opened.Retry();

    /// <summary>The connection is over, and all its streams with it. Reactor thread.</summary>
    public void OnClosed(in CloseReason reason)
    {
        EndAll(Describe(reason));
    }

    /// <summary>
    /// Kestrel has finished a stream. When it is to end a connection, it looks whether requests are left only after each wait for the next
    /// stream: without this one it would wait for a client that has nothing to send. Any thread.
    /// </summary>
    public void OnStreamFinished()
    {
        if (Features.Get<IConnectionLifetimeNotificationFeature>() is { ConnectionClosedRequested.IsCancellationRequested: true })
        {
            _accepted.Wake();
        }
    }

    /// <summary>A stream's context, for another stream. Any thread.</summary>
    public void Return(StreamConnection stream)
    {
        stream.Reset();
        _reuse.Add(stream);
        if (!Interlocked.Exchange(ref _hasReuseTimer, true))
        {
            // Kestrel's, once a second; set after this connection was made.
            Features.Get<IConnectionHeartbeatFeature>()?.OnHeartbeat(static reuse => ((StreamReuse)reuse!).OnSecond(), _reuse);
        }
    }

    private void Begin(StreamConnection stream, QuicStream quic)
    {
        _live.AddLast(stream.Node);
        stream.Begin(quic);
    }

    private void OnEvents(QuicStream quic, StreamEvents events)
    {
        if (quic.Tag is not StreamConnection stream)
        {
            return;
        }

        if (events.HasFlag(StreamEvents.Closed))
        {
            _live.Remove(stream.Node);
        }

        stream.OnEvents(quic, events);
    }

    /// <summary>First what was written is sent: Kestrel closes right after its last GOAWAY.</summary>
    private void Close()
    {
        if (!HasEnded)
        {
            _quic.ScheduleSend();
            Reactor.Defer(CloseSentAction, this);
        }
    }

    private void CloseSent()
    {
        if (!HasEnded)
        {
            _quic.Close(Error >= 0 ? Error : Http3Code.NoError, "");
        }
    }

    private void FailCertificate()
    {
        if (!HasEnded)
        {
            _quic.Connection.Fail(QuicError.OfAlert(AlertBadCertificate, "The certificate was refused"), _quic.Owner.Now);
            ScheduleSend();
        }
    }

    private void EndAll(Exception error)
    {
        while (_live.First is { } node)
        {
            _live.Remove(node);
            node.Value.OnConnectionEnded(error);
        }

        Exception reason = _abortReason ?? error;
        if (_accepted.TryEnd(reason))
        {
            _opened.End(reason);
            ThreadPool.UnsafeQueueUserWorkItem(static connection => connection.ReportClosed(), this, preferLocal: false);
        }
    }

    private void ReportClosed()
    {
        try
        {
            _closed.Cancel();
        }
#pragma warning disable CA1031 // An exception of a callback must not keep the connection open.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Log.Unexpected("a callback of ConnectionClosed", ConnectionId, error);
        }

        _over.SetResult();
    }

    /// <summary>What the application sees at the end of its streams.</summary>
    private Exception Describe(in CloseReason reason)
    {
        switch (reason.Source)
        {
            case CloseSource.Local:
                return _abortReason ?? new ConnectionAbortedException("The connection was closed.");
            case CloseSource.Peer:
                Volatile.Write(ref _error, reason.Code);
                Log.ConnectionAborted(ConnectionId, reason.Code);
                return new ConnectionResetException($"The client closed the connection with code {reason.Code}.");
            case CloseSource.Timeout:
                return new ConnectionResetException("The connection timed out: the client did not respond.");
            default:
                return new ConnectionResetException($"The connection was reset: {reason.Source}, {reason.Phrase}.");
        }
    }

    /// <summary>The features of the contract. Kestrel and the application add theirs.</summary>
    private FeatureCollection CreateFeatures()
    {
        var features = new FeatureCollection(FeaturesUsual);
        features.Set<IReactorFeature>(this);
        features.Set<IConnectionIdFeature>(this);
        features.Set<IConnectionItemsFeature>(this);
        features.Set<IConnectionLifetimeFeature>(this);
        features.Set<IConnectionEndPointFeature>(this);
        features.Set<IMemoryPoolFeature>(this);
        features.Set<IProtocolErrorCodeFeature>(this);
        return features;
    }
}
