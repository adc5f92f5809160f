using Millrace.Engine;
using Millrace.Engine.Scheduling;
using Millrace.Http;
using Millrace.Web.Http1;

namespace Millrace.Web.Http2;

/// <summary>
/// HTTP/2 on one connection (RFC 9113), from its preface on. One loop: it takes the frames that have come, plans and begins the answers to
/// their requests, sends as much of all answers as windows and the output allow, the most urgent first (RFC 9218), and waits for whatever
/// comes next: frames, a read of a file, room in the output, a deadline. The output of one round is one send.
/// </summary>
/// <remarks>
/// What one connection can hold is bounded: streams by <see cref="Http2Limits.StreamsMax"/>, unsent output by
/// <see cref="WebLimits.UnsentBytesMax"/> for data and twice that for all else (beyond, no frame is read), chunks of files by
/// <see cref="ReadAheadBytesMax"/>. Nothing is allocated for a request once streams and buffers have been made. Reactor thread only.
/// </remarks>
internal sealed partial class Http2Session
{
    /// <summary>Frames taken before the other connections of the reactor have their turn.</summary>
    private const int FramesPerTurn = 256;

    private readonly Connection _connection;
    private readonly Workbench _bench;
    private readonly Http2Limits _limits;
    private readonly StreamTable _streams = new();
    private readonly StreamHistory _history = new();
    private readonly ReadyQueue _ready = new();
    private readonly Signal<bool> _event = new();
    private readonly OpenWait<ReadOutcome> _input;
    private readonly OpenWait<FlushOutcome> _room;
    private bool _hasEvent;
    private ReadOutcome _outcome = ReadOutcome.Data;
    private SessionPhase _phase;
    private int _readsInFlight;

    /// <param name="connection">With the whole preface in its input, or nothing of it yet.</param>
    /// <param name="bench">The reactor's.</param>
    public Http2Session(Connection connection, Workbench bench)
    {
        _connection = connection;
        _bench = bench;
        _limits = bench.Limits.Http2;
        _resets = new Allowance(_limits.ResetsMax, _limits.ResetsPerSecond);
        _idleFrames = new Allowance(_limits.IdleFramesMax, _limits.IdleFramesPerSecond);
        double stallMs = Math.Min(bench.Limits.ReceiveStall.TotalMilliseconds, connection.Reactor.WriteStallMs);
        _lookMs = Math.Max(1, (long)stallMs / 4);
        _input = new OpenWait<ReadOutcome>(OnInput);
        _room = new OpenWait<FlushOutcome>(OnRoom);
    }

    private long NowMs => _bench.NowMs;

    private bool IsOver => _phase >= SessionPhase.Over;

    /// <summary>Serves the connection until it should end; the engine then sends what is left and lingers.</summary>
    public async Task RunAsync()
    {
        try
        {
            Announce();
            while (true)
            {
                bool isBehind = Receive();
                Send();
                _connection.Flush();
                if (IsOver || (!isBehind && IsDone()))
                {
                    return;
                }

                if (isBehind)
                {
                    await _connection.Reactor.NextTurn();
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

    /// <summary>Our preface: what the client has to keep to.</summary>
    private void Announce()
    {
        ReadOnlySpan<Setting> settings =
        [
            new(SettingId.MaxConcurrentStreams, (uint)_limits.StreamsMax),
            new(SettingId.MaxHeaderListSize, (uint)_bench.HeadLimits.HeadBytesMax),
            new(SettingId.NoRfc7540Priorities, 1),
        ];
        _connection.Advance(FrameWriter.Settings(_connection.GetSpan(FrameWriter.SettingsBytes(settings.Length)), settings));
        _beganAtMs = _settingsSentAtMs = _idleSinceMs = NowMs;
    }

    /// <summary>Whether all is said: the client has ended, or was told that we end, and nothing can go on.</summary>
    private bool IsDone() =>
        (_phase == SessionPhase.Draining && _streams.Count == 0)
        || (_hasInputEnded && !_isHeldUp && _ready.IsEmpty && _readsInFlight == 0 && _preparations == 0);

    /// <summary>Waits for what comes first.</summary>
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

    /// <summary>Who does not take what was sent is not listened to.</summary>
    private void WaitForInput()
    {
        if (_hasInputEnded || _isHeldUp)
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

    /// <summary>What a wait for input has ended with, beside input.</summary>
    private void TakeOutcome()
    {
        if (_bench.IsDraining && _phase == SessionPhase.Serving)
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

    /// <summary>Only where something waits for it: nobody needs to be told that all is sent.</summary>
    private void WaitForRoom()
    {
        long most = _bench.Limits.UnsentBytesMax / 2;
        if (_room.IsOpen || _connection.UnsentBytes <= most || (_ready.IsEmpty && !_isHeldUp))
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

    /// <summary>Gives everything back, when the kernel has let go of it.</summary>
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

        _block.Return();
    }

    private enum SessionPhase : byte
    {
        /// <summary>The client's preface is not complete: its bytes, and the SETTINGS behind them.</summary>
        Preface,

        Serving,

        /// <summary>The client is told that we shall end, and may have requests under way to us.</summary>
        Noticed,

        /// <summary>The client is told which requests are the last. It ends with them.</summary>
        Draining,

        /// <summary>There is nothing left to do.</summary>
        Over,
    }
}
