using Millrace.Engine.Listening;

namespace Millrace.Engine.Watching;

/// <summary>
/// One reactor under watch: what is done about it while it is held up. Its connections wait, since nobody else may touch them, but new
/// ones, and continuations that need not run there, go elsewhere; and who waits for it within it is failed. The watch's thread.
/// </summary>
internal sealed class WatchedReactor
{
    /// <summary>
    /// So long must the occupant be seen to wait: what was posted is handed over first, and may end the wait.
    /// </summary>
    private const int WaitLooks = 20;

    /// <summary>
    /// And so long where another may be the one who waits: five seconds. Who is blocked by something else for less keeps its connection,
    /// and who waits would wait for ever.
    /// </summary>
    private const int DoubtfulWaitLooks = 1000;

    private readonly Reactor _reactor;
    private readonly Dealer _dealer;
    private readonly EngineLog _log;
    private readonly StallLine _line;
    private readonly StallTracker _tracker;
    private int _waitLooks;
    private int _sureLooks;
    private bool _hasFailed;
    private bool _isTold;

    public WatchedReactor(Reactor reactor, Dealer dealer, EngineLog log, StallLine line)
    {
        _reactor = reactor;
        _dealer = dealer;
        _log = log;
        _line = line;
        _tracker = new StallTracker(new WatchedThread(reactor).Look);
    }

    /// <summary>Where it accepts. Replaced as a whole, by any thread.</summary>
    public IReadOnlyList<Acceptor> Acceptors { get; set => Volatile.Write(ref field, value); } = [];

    /// <summary>Looks at it, and does what is to be done. True when it rested through since the last look.</summary>
    public bool Look(long nowMs)
    {
        switch (_tracker.Look(_reactor.Pulse.Beats, nowMs))
        {
            case StallStep.Stalled:
                _reactor.Counters.Stalls++;
                break;
            case StallStep.HeldUp:
                Begin(nowMs);
                StepIn();
                break;
            case StallStep.StillHeldUp:
                StepIn();
                break;
            case StallStep.Released:
                End();
                break;
            case StallStep.None:
            default:
                break;
        }

        return _tracker.IsQuiet;
    }

    private void Begin(long nowMs)
    {
        _reactor.Counters.HoldUps++;
        _reactor.IsHeldUp = true;
        ForgetWait();
        if (_line.Admit(nowMs, out long since))
        {
            _isTold = true;
            _log.HeldUp(_reactor.Index, _tracker.DurationMs, _reactor.Occupant?.Describe() ?? "an unknown callback", since);
        }
    }

    private void StepIn()
    {
        _reactor.HandOver();
        if (_dealer.HasFree)
        {
            foreach (Acceptor acceptor in Acceptors)
            {
                acceptor.DealElsewhere(_dealer.Deal);
            }
        }

        IOccupant? occupant = _reactor.Occupant;
        occupant?.Relieve();
        OccupantWait wait = occupant?.Wait ?? OccupantWait.None;
        if (wait == OccupantWait.None)
        {
            ForgetWait();
        }
        else if (!_hasFailed && !_tracker.IsComputing && HasWaitedLong(wait))
        {
            // Where that throws, the next look tries again.
            occupant!.Fail(_tracker.DurationMs);
            _hasFailed = true;
            _reactor.Counters.WaitsFailed++;
        }
    }

    /// <summary>Each by its own count: a wait that began just now has had no time yet to be ended well.</summary>
    private bool HasWaitedLong(OccupantWait wait)
    {
        _waitLooks++;
        _sureLooks = wait == OccupantWait.Surely ? _sureLooks + 1 : 0;
        return _sureLooks >= WaitLooks || _waitLooks >= DoubtfulWaitLooks;
    }

    private void ForgetWait()
    {
        _waitLooks = _sureLooks = 0;
        _hasFailed = false;
    }

    private void End()
    {
        _reactor.IsHeldUp = false;
        if (_isTold)
        {
            _isTold = false;
            _log.Released(_reactor.Index, _tracker.DurationMs);
        }
    }
}
