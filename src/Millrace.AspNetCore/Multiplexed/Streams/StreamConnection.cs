using System.Buffers;
using System.Globalization;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Multiplexed.Connections;
using Millrace.Engine;
using Millrace.Quic.Streams;

namespace Millrace.AspNetCore.Multiplexed.Streams;

/// <summary>
/// A stream of QUIC as Kestrel's <see cref="ConnectionContext"/>: two pipes, and two pumps between the pipes and the stream. The members of
/// the contract may be called on any thread; what they ask for is done on the reactor's. It serves one stream after another: Kestrel
/// returns it with <see cref="Dispose"/>.
/// </summary>
/// <remarks>
/// <code>
/// member                       owner
/// _stream, _input, _output     reactor thread
/// _abort, _readAbort, ...      any thread: the first counts; carried out on the reactor thread
/// Error                        Kestrel, or the reactor thread when the peer aborts
/// features, Transport, Items   Kestrel and the application
///
/// phase                        begins with
/// open                         Begin
/// sides ended                  both pumps have ended: StreamEnding reports the stream as closed
/// over                         the peer has acknowledged the end of both sides, or the connection has ended: DisposeAsync completes
/// </code>
/// </remarks>
internal sealed class StreamConnection : ConnectionContext,
    IReactorFeature,
    IConnectionIdFeature,
    IConnectionTransportFeature,
    IConnectionItemsFeature,
    IConnectionLifetimeFeature,
    IMemoryPoolFeature,
    IPersistentStateFeature,
    IStreamDirectionFeature,
    IStreamIdFeature,
    IProtocolErrorCodeFeature,
    IStreamAbortFeature,
    IDisposable
{
    private const long NoCode = -1;

    private static readonly Action<object?> AbortAction = Entering(static stream => stream.AbortSides());
    private static readonly Action<object?> AbortReadAction = Entering(static stream => stream.AbortRead());
    private static readonly Action<object?> AbortWriteAction = Entering(static stream => stream.AbortWrite());

    private readonly MultiplexedConnection _connection;
    private readonly StreamPipes _pipes;
    private readonly StreamFeatures _features;
    private readonly StreamInput _input;
    private readonly StreamOutput _output;
    private readonly StreamEnding _ending;
    private QuicStream? _stream;
    private StreamAbort? _abort;
    private StreamAbort? _readAbort;
    private StreamAbort? _writeAbort;
    private IDictionary<object, object?>? _state;
    private IDictionary<object, object?>? _items;
    private string? _id;
    private long _error = NoCode;
    private bool _isAbortedByPeer;
    private bool _isPeers;

    public StreamConnection(MultiplexedConnection connection)
    {
        _connection = connection;
        _pipes = new StreamPipes(connection.Pipes);
        _input = new StreamInput(this, _pipes.Input);
        _output = new StreamOutput(this, _pipes.Output);
        _ending = new StreamEnding(this);
        _features = new StreamFeatures(this, connection.Features);
        Transport = _pipes.Application;
        Node = new LinkedListNode<StreamConnection>(this);
    }

    /// <summary>The connection's, in its list of streams.</summary>
    public LinkedListNode<StreamConnection> Node { get; }

    public override string ConnectionId
    {
        get => _id ??= string.Create(CultureInfo.InvariantCulture, $"{_connection.ConnectionId}:{(uint)StreamId:X8}");
        set => _id = value;
    }

    public override IFeatureCollection Features => _features.All;

    public override IDictionary<object, object?> Items
    {
        get => _items ??= new ConnectionItems();
        set => _items = value;
    }

    public override IDuplexPipe Transport { get; set; }

    public override CancellationToken ConnectionClosed
    {
        get => _ending.Closed;
        set => throw new NotSupportedException("The transport's token cannot be replaced.");
    }

    public MemoryPool<byte> MemoryPool => _connection.MemoryPool;

    public long StreamId { get; private set; }

    public bool CanRead { get; private set; }

    public bool CanWrite { get; private set; }

    /// <summary>The code of the peer's abort, or the one with which this end is to abort; -1 for none.</summary>
    public long Error
    {
        get => Volatile.Read(ref _error);
        set
        {
            Http3Code.Require(value);
            Volatile.Write(ref _error, value);
        }
    }

    /// <summary>What Kestrel keeps for the next stream that this serves.</summary>
    IDictionary<object, object?> IPersistentStateFeature.State => _state ??= new ConnectionItems();

    Reactor IReactorFeature.Reactor => _connection.Reactor;

    public MultiplexedLog Log => _connection.Log;

    /// <summary>Bytes after which the application is notified of its input at the latest.</summary>
    public long InputBytesMax => _connection.Pipes.InputBytesMax;

    /// <summary>Reports the stream's end.</summary>
    public StreamEnding Ending => _ending;

    /// <summary>Whether continuations of Kestrel run on the thread pool only.</summary>
    public bool ContinuesOnPool => _connection.Pipes.ContinuesOnPool;

    /// <summary>Whether both pumps have ended. Reactor thread.</summary>
    public bool HaveSidesEnded => _input.HasEnded && _output.HasEnded;

    /// <summary>Whether the stream's object is gone. Reactor thread.</summary>
    public bool IsOver => _stream is null && HaveSidesEnded;

    /// <summary>Whether Kestrel has returned it from an exchange without faults, so that the pipes are clean.</summary>
    private bool CanReuse =>
        _input.IsWhole && _output.IsWhole && !_isAbortedByPeer && _abort is null && _readAbort is null && _writeAbort is null;

    /// <summary>Begins to serve a stream. Reactor thread.</summary>
    public void Begin(QuicStream stream)
    {
        _stream = stream;
        stream.Tag = this;
        StreamId = stream.Id;
        _isPeers = stream.IsPeers;
        CanRead = stream.IsBidirectional || stream.IsPeers;
        CanWrite = stream.IsBidirectional || !stream.IsPeers;
        LocalEndPoint = _connection.LocalEndPoint;
        RemoteEndPoint = _connection.RemoteEndPoint;
        _input.Begin(stream);
        _output.Begin(stream);
        if (!CanRead)
        {
            _input.End(null);
        }

        if (!CanWrite)
        {
            _output.End();
        }

        _input.Pump();
        _output.Pump();
    }

    /// <summary>Something happened to the stream. Reactor thread.</summary>
    public void OnEvents(QuicStream stream, StreamEvents events)
    {
        if (events.HasFlag(StreamEvents.Readable))
        {
            _input.Pump();
        }

        if (events.HasFlag(StreamEvents.Reset))
        {
            NoteAbortOfPeer(stream.Receive.ResetCode);
            Log.StreamAbortedRead(this, stream.Receive.ResetCode);
            _input.End(new ConnectionResetException($"The client aborted the stream with code {stream.Receive.ResetCode}."));
        }

        if (events.HasFlag(StreamEvents.StopSending))
        {
            NoteAbortOfPeer(stream.Send.StopSendingCode);
            Log.StreamAbortedWrite(this, stream.Send.StopSendingCode);
            _output.End();
        }

        if (events.HasFlag(StreamEvents.Writable))
        {
            _output.Pump();
        }

        if (events.HasFlag(StreamEvents.Closed))
        {
            Detach();
            // Both sides have ended, unless their last pipe operation is still on its way.
            _input.End(null);
            _output.End();
            _ending.Advance();
        }
    }

    /// <summary>The connection has ended, and all its streams with it. Reactor thread.</summary>
    public void OnConnectionEnded(Exception reason)
    {
        Detach();
        _input.End(reason);
        _output.End();
        _ending.Advance();
    }

    /// <summary>It is over, and its disposal ends. Reactor thread.</summary>
    public void OnOver()
    {
        if (_isPeers)
        {
            _connection.OnStreamOver();
        }
    }

    /// <summary>One of the pumps has ended. Reactor thread.</summary>
    public void OnSideEnded() => _ending.Advance();

    /// <inheritdoc cref="MultiplexedConnection.RunOnReactor"/>
    public void RunOnReactor(Action<object?> action, object? state) => _connection.RunOnReactor(action, state);

    /// <inheritdoc cref="MultiplexedConnection.Enter"/>
    public void Enter(Action<object?> action, object? state) => _connection.Enter(action, state);

    /// <summary>Runs a callback of the application. Any thread.</summary>
    public void Guard(Action<object?> callback, object? state)
    {
        try
        {
            callback(state);
        }
#pragma warning disable CA1031 // An exception of a callback must not stop the others, nor the reactor.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Log.Unexpected("a callback of the stream's end", ConnectionId, error);
        }
    }

    /// <summary>What was written to the stream is sent at the end of the iteration. Reactor thread.</summary>
    public void ScheduleSend()
    {
        if (_stream is not null)
        {
            _connection.ScheduleSend();
        }
    }

    /// <summary>The application reads no more, and has not said why. Reactor thread.</summary>
    public void StopReading()
    {
        _stream?.StopSending(Error >= 0 ? Error : Http3Code.RequestCancelled);
        _input.End(null);
        ScheduleSend();
    }

    /// <summary>The application has completed its output with an error. Reactor thread.</summary>
    public void AbortWriting(Exception reason)
    {
        long code = Error >= 0 ? Error : Http3Code.RequestCancelled;
        Log.StreamAbortWrite(this, code, reason.Message);
        EndOutput(code);
    }

    /// <summary>Aborts both sides, with <see cref="Error"/> as code.</summary>
    public override void Abort(ConnectionAbortedException abortReason)
    {
        var abort = new StreamAbort(Error >= 0 ? Error : Http3Code.RequestCancelled, abortReason);
        if (Interlocked.CompareExchange(ref _abort, abort, null) is null)
        {
            Log.StreamAbort(this, abort.Code, abortReason.Message);
            _connection.RunOnReactor(AbortAction, this);
        }
    }

    public override void Abort() =>
        Abort(new ConnectionAbortedException("The stream was aborted by the application via ConnectionContext.Abort()."));

    public void AbortRead(long errorCode, ConnectionAbortedException abortReason)
    {
        Http3Code.Require(errorCode);
        if (!CanRead)
        {
            throw new InvalidOperationException("The stream has no side to read.");
        }

        if (Interlocked.CompareExchange(ref _readAbort, new StreamAbort(errorCode, abortReason), null) is null)
        {
            Log.StreamAbortRead(this, errorCode, abortReason.Message);
            _connection.RunOnReactor(AbortReadAction, this);
        }
    }

    public void AbortWrite(long errorCode, ConnectionAbortedException abortReason)
    {
        Http3Code.Require(errorCode);
        if (!CanWrite)
        {
            throw new InvalidOperationException("The stream has no side to write.");
        }

        if (Interlocked.CompareExchange(ref _writeAbort, new StreamAbort(errorCode, abortReason), null) is null)
        {
            Log.StreamAbortWrite(this, errorCode, abortReason.Message);
            _connection.RunOnReactor(AbortWriteAction, this);
        }
    }

    /// <summary>
    /// Ends the stream in order and waits until the client has acknowledged what was sent: Kestrel closes the connection when its last
    /// stream is gone.
    /// </summary>
#pragma warning disable CA2215 // The base has nothing to dispose of, and a call of it would cost each stream a task.
    public override ValueTask DisposeAsync()
#pragma warning restore CA2215
    {
        _pipes.CompleteApplication();
        return _ending.WaitAsync();
    }

    /// <summary>Kestrel has no use for it any more: it may serve another stream. After <see cref="DisposeAsync"/>.</summary>
    public void Dispose()
    {
        _connection.OnStreamFinished();
        if (CanReuse)
        {
            _connection.Return(this);
        }
    }

    /// <summary>For another stream. Both sides of both pipes are complete.</summary>
    public void Reset()
    {
        _pipes.Reset();
        _features.Reset();
        _ending.Reset();
        _items = null;
        _id = null;
        Transport = _pipes.Application;
        Volatile.Write(ref _error, NoCode);
    }

    /// <summary>A posted request of <see cref="StreamEnding"/>: Kestrel waits for the end. Reactor thread.</summary>
    public void EndInOrder()
    {
        if (_stream is { } stream)
        {
            if (!_input.HasEnded)
            {
                stream.StopSending(Http3Code.RequestCancelled);
                _input.End(null);
            }

            // The application has completed its output, which is sent to its end.
            ScheduleSend();
        }

        _ending.Advance();
    }

    private static Action<object?> Entering(Action<StreamConnection> action)
    {
        Action<object?> run = stream => action((StreamConnection)stream!);
        return stream => ((StreamConnection)stream!)._connection.Enter(run, stream);
    }

    private void NoteAbortOfPeer(long code)
    {
        _isAbortedByPeer = true;
        Volatile.Write(ref _error, code);
    }

    private void AbortSides()
    {
        StreamAbort abort = _abort!;
        _stream?.StopSending(abort.Code);
        _input.End(abort.Reason);
        EndOutput(abort.Code);
    }

    private void AbortRead()
    {
        _stream?.StopSending(_readAbort!.Code);
        _input.End(_readAbort!.Reason);
        ScheduleSend();
    }

    private void AbortWrite() => EndOutput(_writeAbort!.Code);

    private void EndOutput(long code)
    {
        _stream?.Abort(code);
        _output.End();
        ScheduleSend();
    }

    private void Detach()
    {
        _stream = null;
        _input.Detach();
        _output.Detach();
    }

    private sealed record StreamAbort(long Code, Exception Reason);
}
