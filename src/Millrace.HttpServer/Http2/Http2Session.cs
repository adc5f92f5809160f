using Millrace.Engine;
using Millrace.Engine.Loop;
using Millrace.Http;
using Millrace.HttpServer.Http1;

namespace Millrace.HttpServer.Http2;

/// <summary>
/// Serves HTTP/2 on one connection (RFC 9113), from its preface. One loop processes received frames, plans and begins the responses, sends
/// as much of all responses as windows and output allow, the most urgent first (RFC 9218), and waits for the next event: frames, a file
/// read, room in the output, a deadline. The output of one pass is one send.
/// </summary>
/// <remarks>
/// What one connection can hold is limited: streams by <see cref="Http2Limits.StreamsMax"/>, unsent output by <see
/// cref="HttpServerLimits.UnsentBytesMax"/> for data and twice that for all other frames (beyond it, no frame is read), chunks of files by
/// <see cref="ReadAheadBytesMax"/>. Nothing is allocated for a request once streams and buffers exist. Reactor thread only.
/// </remarks>
internal sealed partial class Http2Session
{
    /// <summary>Frames processed before the session checks whether other connections should continue: one request has fewer.</summary>
    private const int FramesPerCheck = 8;

    /// <summary>DATA frames, 16 KiB each, sent before the same check.</summary>
    private const int DataFramesPerCheck = 2;

    /// <summary>The memory of this object with its tables and its async state, without streams.</summary>
    private const int HeldBytes = 4 * 1024;

    private readonly Connection _connection;
    private readonly SessionReactorState _reactorState;
    private readonly Func<ReadOnlySpan<byte>, bool>? _isCovered;
    private readonly Http2Limits _limits;
    private readonly StreamTable _streams = new();
    private readonly StreamHistory _history = new();
    private readonly ReadyQueue _ready = new();
    private readonly ReactorSignal<bool> _event = new();
    private readonly PendingWait<ReadOutcome> _input;
    private readonly PendingWait<FlushOutcome> _room;
    private bool _hasEvent;
    private ReadOutcome _outcome = ReadOutcome.Data;
    private SessionPhase _phase;
    private int _readsInFlight;

    /// <param name="connection">The connection, with the whole preface in its input or none of it.</param>
    /// <param name="reactorState">The state of its reactor.</param>
    /// <param name="isCovered">Whether the connection's certificate covers a host; null if the connection is for all hosts.</param>
    public Http2Session(Connection connection, SessionReactorState reactorState, Func<ReadOnlySpan<byte>, bool>? isCovered = null)
    {
        _connection = connection;
        _isCovered = isCovered;
        _reactorState = reactorState;
        _limits = reactorState.Limits.Http2;
        _resets = new TokenBucket(_limits.ResetsMax, _limits.ResetsPerSecond);
        _overheadFrames = new TokenBucket(_limits.OverheadFramesMax, _limits.OverheadFramesPerSecond);
        double stallMs = Math.Min(reactorState.Limits.ReceiveStall.TotalMilliseconds, connection.Reactor.WriteStallMs);
        _checkMs = Math.Max(1, (long)stallMs / 4);
        _input = new PendingWait<ReadOutcome>(OnInput);
        _room = new PendingWait<FlushOutcome>(OnRoom);
    }

    private long NowMs => _reactorState.NowMs;

    private bool IsOver => _phase >= SessionPhase.Over;

    /// <summary>Serves the connection until it should close; the engine then sends the remaining output and lingers.</summary>
    public async Task RunAsync()
    {
        _connection.HoldState(HeldBytes);
        try
        {
            WriteSettings();
            while (true)
            {
                bool hasMore = Receive();
                hasMore |= Send();
                _connection.Flush();
                if (IsOver || (!hasMore && IsDone()))
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
                    await NextEventAsync();
                }

                TakeOutcome();
                TakeReads();
                if (_preparations > 0)
                {
                    await PlanPreparedAsync();
                }
            }
        }
        finally
        {
            await ReleaseAsync();
        }
    }

    /// <summary>Writes the server's preface: its SETTINGS.</summary>
    private void WriteSettings()
    {
        ReadOnlySpan<Setting> settings =
        [
            new(SettingId.MaxConcurrentStreams, (uint)_limits.StreamsMax),
            new(SettingId.MaxHeaderListSize, (uint)_reactorState.HeadLimits.HeadBytesMax),
            new(SettingId.NoRfc7540Priorities, 1),
        ];
        _connection.Advance(FrameWriter.Settings(_connection.GetSpan(FrameWriter.SettingsBytes(settings.Length)), settings));
        _beganAtMs = _settingsSentAtMs = _idleSinceMs = NowMs;
    }

    /// <summary>Whether nothing remains: the client has closed its side or knows that the server does, and no stream can go on.</summary>
    private bool IsDone() =>
        (_phase == SessionPhase.Draining && _streams.Count == 0)
        || (_hasInputEnded && !_isInputPaused && _ready.IsEmpty && _readsInFlight == 0 && _preparations == 0);

    /// <summary>Waits for the next event.</summary>
    private ValueTask<bool> NextEventAsync()
    {
        WaitForRoom();
        WaitForInput();
        if (_hasEvent)
        {
            _hasEvent = false;
            return new ValueTask<bool>(true);
        }

        return _event.Begin();
    }

    private void Notify()
    {
        if (_event.IsPending)
        {
            _event.Complete(true);
        }
        else
        {
            _hasEvent = true;
        }
    }

    /// <summary>Waits for input, unless the client does not take the output.</summary>
    private void WaitForInput()
    {
        if (_hasInputEnded || _isInputPaused)
        {
            return;
        }

        _connection.SetReadDeadline(NextDeadlineMs());
        if (!_input.IsOpen)
        {
            bool mayDrain = _phase == SessionPhase.Serving;
            _input.Begin(mayDrain ? _connection.ReadIdleAsync() : _connection.ReadAsync());
        }
    }

    private void OnInput()
    {
        _outcome = _input.Take();
        Notify();
    }

    /// <summary>Processes the result of a wait for input, other than input.</summary>
    private void TakeOutcome()
    {
        if (_reactorState.IsDraining && _phase == SessionPhase.Serving)
        {
            BeginDrain();
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
                _phase = SessionPhase.Over;
                break;
        }

        _outcome = ReadOutcome.Data;
    }

    /// <summary>Waits for room only if something needs it.</summary>
    private void WaitForRoom()
    {
        // If many small responses pause the input, and not their bytes, wait for half of those.
        long most = Math.Min(_reactorState.Limits.UnsentBytesMax, _isInputPaused ? _connection.UnsentBytes : long.MaxValue) / 2;
        if (_room.IsOpen || _connection.UnsentBytes <= most || (_ready.IsEmpty && !_isInputPaused))
        {
            return;
        }

        _room.Begin(_connection.FlushAsync(most));
    }

    private void OnRoom()
    {
        if (_room.Take() == FlushOutcome.Closed)
        {
            _phase = SessionPhase.Over;
        }

        Notify();
    }

    /// <summary>Releases everything, after the kernel has finished its reads.</summary>
    private async ValueTask ReleaseAsync()
    {
        _phase = SessionPhase.Over;
        while (_streams.Count > 0)
        {
            Close(_streams.All[0]);
        }

        while (_readsInFlight > 0)
        {
            _hasEvent = false;
            await _event.Begin();
        }

        ReturnBlock();
        _connection.HoldState(-HeldBytes - (_holdsTable ? TableBytes : 0));
    }

    private enum SessionPhase : byte
    {
        /// <summary>The client's preface is not complete: its bytes, and the SETTINGS after them.</summary>
        Preface,

        Serving,

        /// <summary>The client is notified that the connection will end, and may have requests in transit.</summary>
        Noticed,

        /// <summary>The client knows which requests are the last; the connection ends after them.</summary>
        Draining,

        /// <summary>Nothing remains to be done.</summary>
        Over,
    }
}
