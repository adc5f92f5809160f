using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Heads;
using Millrace.HttpServer.Sessions;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Serves HTTP/2 on one connection (RFC 9113), from its preface. One loop processes received frames, plans and begins the responses, sends
/// as much of all responses as windows and output allow, the most urgent first (RFC 9218), and waits for the next event: frames, a file
/// read, room in the output, a deadline. The output of one pass is one send.
/// </summary>
/// <remarks>
/// The session owns these, each of which knows those before it:
/// <code>
/// Http2Lifecycle       the phases, GOAWAY, the end
/// SendQueue            the client's windows, which stream sends next, read-ahead
/// Http2Streams         opens and ends streams
/// Http2ResponseWriter  plans to heads, and bodies in the queue
/// ResponseScheduler    bodies to DATA frames; file reads
/// Http2Proxy           requests to upstreams
/// StreamTimeouts       clients that let streams make no progress
/// FieldBlockReader     field blocks, HPACK
/// Http2Requests        field blocks to plans
/// Http2FrameReader     frames
/// </code>
/// What one connection can hold is limited: streams by <see cref="Http2Limits.StreamsMax"/>, unsent output by <see
/// cref="HttpServerLimits.UnsentBytesMax"/> for data and twice that for all other frames (beyond it, no frame is read), chunks of files by
/// <see cref="SendQueue"/>. Nothing is allocated for a request once streams and buffers exist. Reactor thread only.
/// </remarks>
internal sealed class Http2Session
{
    /// <summary>The memory of this object with its members and its async state, without streams.</summary>
    private const int HeldBytes = 4 * 1024;

    private readonly Connection _connection;
    private readonly SessionReactorState _reactorState;
    private readonly SessionEvent _event = new();
    private readonly PendingWait<ReadOutcome> _input;
    private readonly PendingWait<FlushOutcome> _room;
    private readonly Http2Lifecycle _lifecycle;
    private readonly SendQueue _queue;
    private readonly Http2Streams _streams;
    private readonly ResponseScheduler _scheduler;
    private readonly StreamTimeouts _timeouts;
    private readonly FieldBlockReader _blocks;
    private readonly Http2Requests _requests;
    private readonly Http2Proxy _proxy;
    private readonly Http2FrameReader _frames;
    private ReadOutcome _outcome = ReadOutcome.Data;
    private bool _hasInputEnded;

    /// <param name="connection">The connection, with the whole preface in its input or none of it.</param>
    /// <param name="reactorState">The state of its reactor.</param>
    /// <param name="isCovered">Whether the connection's certificate covers a host; null if the connection is for all hosts.</param>
    /// <param name="alternative">What else clients of the connection may use; null for nothing.</param>
    public Http2Session(
        Connection connection,
        SessionReactorState reactorState,
        Func<ReadOnlySpan<byte>, bool>? isCovered = null,
        AlternativeService? alternative = null)
    {
        _connection = connection;
        _reactorState = reactorState;
        _input = new PendingWait<ReadOutcome>(OnInput);
        _room = new PendingWait<FlushOutcome>(OnRoom);
        Http2Limits limits = reactorState.Limits.Http2;
        var overheadFrames = new TokenBucket(limits.OverheadFramesMax, limits.OverheadFramesPerSecond);
        var history = new StreamHistory();
        var table = new StreamTable();
        _lifecycle = new Http2Lifecycle(connection, reactorState, history);
        _queue = new SendQueue(connection, reactorState, table, overheadFrames);
        _streams = new Http2Streams(connection, reactorState, _lifecycle, history, table, _queue, _event, overheadFrames);
        var responses = new Http2ResponseWriter(connection, reactorState, _queue, _streams, alternative);
        _scheduler = new ResponseScheduler(connection, _streams, _queue, responses);
        _proxy = new Http2Proxy(connection, reactorState, _queue, _streams, responses);
        _timeouts = new StreamTimeouts(connection, reactorState, _lifecycle, _streams, _queue, _proxy);
        _blocks = new FieldBlockReader(connection, reactorState);
        _requests = new Http2Requests(
            connection, reactorState, _lifecycle, _blocks, _streams, responses, _proxy, _timeouts, _event, overheadFrames, isCovered);
        _frames = new Http2FrameReader(
            connection, reactorState, _lifecycle, _blocks, _streams, _queue, responses, _requests, _proxy, overheadFrames);
    }

    private long NowMs => _reactorState.NowMs;

    /// <summary>Serves the connection until it should close; the engine then sends the remaining output and lingers.</summary>
    public async Task RunAsync()
    {
        _connection.ChargeManaged(HeldBytes);
        try
        {
            _lifecycle.Begin();
            while (true)
            {
                _proxy.TakeRoom();
                bool hasMore = _frames.Receive();
                hasMore |= !_lifecycle.IsOver && (_scheduler.Send() || HasRoomAgain);
                _connection.Flush();
                if (_lifecycle.IsOver || (!hasMore && IsDone()))
                {
                    return;
                }

                if (hasMore)
                {
                    await _connection.Reactor.Yield();
                    CheckDeadlinesIfDue();
                }
                else
                {
                    WaitForRoom();
                    WaitForInput();
                    await _event.WaitAsync();
                }

                TakeOutcome();
                _scheduler.TakeReads();
                if (_streams.SourcesProgressed > 0)
                {
                    _proxy.TakeProgress();
                    _frames.RestoreWindow();
                }

                if (_streams.Preparations > 0)
                {
                    await _requests.PlanPreparedAsync();
                }
            }
        }
        finally
        {
            await ReleaseAsync();
        }
    }

    /// <summary>
    /// Whether what has to wait for room has it already, as the socket took the output while responses were sent: no wait would end.
    /// </summary>
    private bool HasRoomAgain =>
        (_frames.IsPaused && _connection.UnsentBytes == 0) || (_proxy.WaitsForRoom && _queue.HasRoom);

    /// <summary>Whether nothing remains: the client has closed its side or knows that the server does, and no stream can go on.</summary>
    private bool IsDone() =>
        (_lifecycle.IsDraining && _streams.Count == 0)
        || (_hasInputEnded && !_frames.IsPaused && _queue.IsEmpty && _streams.ReadsInFlight == 0 && _streams.Preparations == 0);

    /// <summary>Waits for input, unless the client does not take the output.</summary>
    private void WaitForInput()
    {
        if (_hasInputEnded || _frames.IsPaused)
        {
            return;
        }

        _connection.SetReadDeadline(NextDeadlineMs());
        if (!_input.IsOpen)
        {
            _input.Begin(_lifecycle.IsServing ? _connection.ReadIdleAsync() : _connection.ReadAsync());
        }
    }

    private void OnInput()
    {
        _outcome = _input.Take();
        _event.Set();
    }

    /// <summary>Processes the result of a wait for input, other than input.</summary>
    private void TakeOutcome()
    {
        if (_reactorState.IsDraining && _lifecycle.IsServing)
        {
            _lifecycle.BeginDrain();
        }

        switch (_outcome)
        {
            case ReadOutcome.TimedOut:
                CheckDeadlines();
                break;
            case ReadOutcome.End:
                _hasInputEnded = true;
                break;
            case ReadOutcome.Reset:
                _lifecycle.End();
                break;
        }

        _outcome = ReadOutcome.Data;
    }

    private void WaitForRoom()
    {
        // If many small responses pause the input, and not their bytes, wait for half of those.
        long most = Math.Min(_reactorState.Limits.UnsentBytesMax, _frames.IsPaused ? _connection.UnsentBytes : long.MaxValue) / 2;
        if (_room.IsOpen || _connection.UnsentBytes <= most || (_queue.IsEmpty && !_frames.IsPaused && !_proxy.WaitsForRoom))
        {
            return;
        }

        _room.Begin(_connection.FlushAsync(most));
    }

    private void OnRoom()
    {
        if (_room.Take() == FlushOutcome.Closed)
        {
            _lifecycle.End();
        }

        _event.Set();
    }

    /// <summary>The next time at which the session must check its deadlines.</summary>
    private long NextDeadlineMs()
    {
        long at = _streams.Count == 0 ? _streams.IdleSinceMs + _reactorState.KeepAliveMs : _timeouts.DueMs;
        at = Math.Min(Math.Min(at, _frames.DueMs), _lifecycle.PrefaceDueMs);
        return Math.Min(Math.Min(at, _lifecycle.SettingsDueMs), _lifecycle.FinalGoAwayDueMs);
    }

    /// <summary>Checks the deadlines of a client that sends without a pause: then no wait for input times out.</summary>
    private void CheckDeadlinesIfDue()
    {
        if (NowMs >= NextDeadlineMs())
        {
            CheckDeadlines();
        }
    }

    private void CheckDeadlines()
    {
        long now = NowMs;
        if (now >= _lifecycle.SettingsDueMs)
        {
            if (_connection.UnsentBytes > 0)
            {
                // The SETTINGS may be among them. How slowly a client may read is for the write limits.
                _lifecycle.AwaitSettingsAcknowledgement();
            }
            else
            {
                _lifecycle.Fail(Http2Error.SettingsTimeout);
            }
        }
        else if (now >= Math.Min(_lifecycle.PrefaceDueMs, _frames.DueMs))
        {
            _lifecycle.Fail(Http2Error.EnhanceYourCalm);
        }
        else if (_streams.Count == 0 && now >= _streams.IdleSinceMs + _reactorState.KeepAliveMs)
        {
            if (_connection.UnsentBytes > 0)
            {
                // A client that still receives the last response is not idle.
                _streams.IdleSinceMs = now;
            }
            else
            {
                _lifecycle.Fail(Http2Error.NoError);
            }
        }

        if (now >= _lifecycle.FinalGoAwayDueMs)
        {
            _lifecycle.SendFinalGoAway();
        }

        _timeouts.CheckIfDue();
    }

    /// <summary>Releases everything, after the kernel has finished its reads.</summary>
    private async ValueTask ReleaseAsync()
    {
        _lifecycle.End();
        _streams.CloseAll();
        while (_streams.ReadsInFlight > 0)
        {
            await _event.WaitAsync();
        }

        _blocks.Release();
        _connection.ChargeManaged(-HeldBytes);
    }
}
