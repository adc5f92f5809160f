using Millrace.Quic.Recovery;

namespace Millrace.Quic.Congestion;

/// <summary>
/// The congestion window of one path and the bytes in flight on it (RFC 9002, section 7). <see cref="LossDetection"/> owns it and calls it
/// for each packet; then once for each ACK frame, so that the window grows by what that acknowledges. Nothing here fails. One thread.
/// </summary>
internal abstract class CongestionController
{
    /// <summary>More than any path needs: 1 Gbit/s at 2 s.</summary>
    public const long MaximumWindow = 256L << 20;

    /// <summary>kMinimumWindow, in datagrams.</summary>
    protected const int MinimumDatagrams = 2;

    /// <summary>kInitialWindow, in datagrams, with a limit in bytes (RFC 9002, section 7.2).</summary>
    private const int InitialDatagrams = 10;
    private const int InitialBytes = 14720;

    /// <summary>No congestion event has happened: every packet was sent later.</summary>
    private const long Never = long.MinValue;

    private readonly HyStart _hyStart = new();
    private UndoState _undo;
    private int _events;
    private long _recoveryStart = Never;
    private long _roundStart = Never;
    private long _lastSent = Never;
    private long _acked;
    private long _largestAckedTime = Never;
    private long _mostInFlight;
    private long _mostInFlightBefore;
    private bool _filledWindow;
    private bool _filledWindowBefore;

    protected CongestionController(int maximumDatagramSize)
    {
        MaximumDatagramSize = maximumDatagramSize;
        Window = InitialWindow;
    }

    /// <summary>The congestion window, in bytes.</summary>
    public long Window { get; protected set; }

    /// <summary>The slow start threshold; <see cref="long.MaxValue"/> until the first congestion event.</summary>
    public long SlowStartThreshold { get; protected set; } = long.MaxValue;

    public long BytesInFlight { get; private set; }

    /// <summary>The largest datagram that the path takes.</summary>
    public int MaximumDatagramSize { get; private set; }

    public bool IsInSlowStart => Window < SlowStartThreshold;

    /// <summary>What may be sent now, in bytes.</summary>
    public long Available => Math.Max(0, Window - BytesInFlight);

    private long InitialWindow =>
        Math.Min((long)InitialDatagrams * MaximumDatagramSize, Math.Max(InitialBytes, (long)MinimumDatagrams * MaximumDatagramSize));

    /// <summary>HyStart++ is for the first slow start only: later ones have a threshold (RFC 9406, section 4.3).</summary>
    private bool IsInFirstSlowStart => SlowStartThreshold == long.MaxValue;

    /// <summary>Whether the window was in use in this round, or in the one before: most of what is acknowledged was sent then.</summary>
    private bool IsWindowLimited => _filledWindow || _filledWindowBefore
        || (IsInSlowStart && Window < 2 * Math.Max(_mostInFlight, _mostInFlightBefore));

    protected long MinimumWindow => (long)MinimumDatagrams * MaximumDatagramSize;

    public static CongestionController Create(CongestionAlgorithm algorithm, int maximumDatagramSize) => algorithm switch
    {
        CongestionAlgorithm.NewReno => new NewReno(maximumDatagramSize),
        _ => new Cubic(maximumDatagramSize),
    };

    /// <summary>Whether a packet of this size fits into the window. Probes are sent in any case (RFC 9002, section 7.5).</summary>
    public bool CanSend(int size) => BytesInFlight + size <= Window;

    public void OnPacketSent(int size, long now)
    {
        BytesInFlight += size;
        _lastSent = now;
        _mostInFlight = Math.Max(_mostInFlight, BytesInFlight);
        _filledWindow |= Window - BytesInFlight <= Math.Max(2L * MaximumDatagramSize, Window / 8);
    }

    /// <summary>One packet is acknowledged; <see cref="OnAckProcessed"/> follows when all of the frame were.</summary>
    public void OnPacketAcked(int size, long timeSent)
    {
        BytesInFlight -= size;
        _largestAckedTime = Math.Max(_largestAckedTime, timeSent);
        if (timeSent > _recoveryStart)
        {
            _acked += size;
        }
    }

    /// <summary>The packets of an ACK frame are acknowledged, those lost are declared lost: the window grows.</summary>
    public void OnAckProcessed(RttEstimator rtt, bool hasSample, long now)
    {
        long acked = _acked;
        _acked = 0;
        if (_largestAckedTime == Never)
        {
            return;
        }

        if (_largestAckedTime > _roundStart)
        {
            BeginRound();
        }

        _largestAckedTime = Never;
        if (IsInFirstSlowStart && hasSample)
        {
            _hyStart.OnSample(rtt.Latest);
        }

        if (acked == 0)
        {
            return;
        }

        if (!IsWindowLimited)
        {
            OnUnderused(now);
        }
        else if (IsInSlowStart)
        {
            Window = Math.Min(Math.Min(MaximumWindow, SlowStartThreshold), Window + (acked / _hyStart.GrowthDivisor));
        }
        else
        {
            Avoid(acked, rtt, now);
            Window = Math.Min(MaximumWindow, Window);
        }
    }

    /// <summary>A packet in flight is declared lost; <see cref="OnCongestion"/> follows unless it was a probe of the MTU.</summary>
    public void OnPacketLost(int size) => BytesInFlight -= size;

    /// <summary>A packet leaves flight for a reason that says nothing of the path, such as that its keys are discarded.</summary>
    public void OnPacketRemoved(int size) => BytesInFlight -= size;

    /// <summary>
    /// That packet was not a probe: if it was sent after the last congestion event began, another one begins. Returns the number of the
    /// event that the loss is part of, for <see cref="OnSpuriousLoss"/>.
    /// </summary>
    public int OnCongestion(long timeSent, long now)
    {
        if (Begin(timeSent, now))
        {
            _undo.Lost = 0;
            _undo.IsPossible = true;
        }

        _undo.Lost++;
        return _events;
    }

    /// <summary>The peer's count of CE marks grew by a packet sent at <paramref name="timeSent"/> (RFC 9002, section 7.1).</summary>
    public void OnEcnCongestion(long timeSent, long now)
    {
        Begin(timeSent, now);

        // Whatever else was lost by then, this event is no mistake.
        _undo.IsPossible = false;
    }

    /// <summary>
    /// A lost packet of a congestion event is acknowledged. When all of the last event's are, there was no congestion, and the window is
    /// what it was before (RFC 9438, section 4.9.2). True: it is.
    /// </summary>
    public bool OnSpuriousLoss(int congestionEvent)
    {
        if (!_undo.IsPossible || congestionEvent != _events || --_undo.Lost > 0)
        {
            return false;
        }

        _undo.IsPossible = false;
        Window = Math.Max(Window, _undo.Window);
        SlowStartThreshold = _undo.SlowStartThreshold;
        _recoveryStart = _undo.RecoveryStart;
        Restore();
        return true;
    }

    /// <summary>Everything of a long time was lost (RFC 9002, section 7.6.2).</summary>
    public void OnPersistentCongestion()
    {
        Window = MinimumWindow;
        _recoveryStart = Never;
        _undo.IsPossible = false;
        _acked = 0;
        Collapse();
    }

    /// <summary>The path takes datagrams of another size. The window stays, unless it is below its least.</summary>
    public void SetMaximumDatagramSize(int size)
    {
        bool isInitial = Window == InitialWindow && SlowStartThreshold == long.MaxValue;
        MaximumDatagramSize = size;
        Window = isInitial ? InitialWindow : Math.Max(Window, MinimumWindow);
    }

    /// <summary>Another path: as at the beginning, with nothing in flight (RFC 9000, section 9.4).</summary>
    public void Reset()
    {
        BytesInFlight = 0;
        Window = InitialWindow;
        SlowStartThreshold = long.MaxValue;
        _events++;
        _undo = default;
        _recoveryStart = _roundStart = _lastSent = _largestAckedTime = Never;
        _acked = _mostInFlight = _mostInFlightBefore = 0;
        _filledWindow = _filledWindowBefore = false;
        _hyStart.Reset();
        Collapse();
    }

    /// <summary>Grows the window in congestion avoidance, by <paramref name="acked"/> bytes that were acknowledged.</summary>
    protected abstract void Avoid(long acked, RttEstimator rtt, long now);

    /// <summary>Sets window and threshold at the begin of a congestion event.</summary>
    protected abstract void Reduce();

    /// <summary>Keeps and gives back what <see cref="Reduce"/> changes besides window and threshold.</summary>
    protected abstract void Save();

    protected abstract void Restore();

    /// <summary>The window was set to its least or to its first value: what is known of earlier windows is void.</summary>
    protected abstract void Collapse();

    /// <summary>What is acknowledged was sent while the window was not used, so it does not grow (RFC 9002, section 7.8).</summary>
    protected virtual void OnUnderused(long now)
    {
    }

    private bool Begin(long timeSent, long now)
    {
        if (timeSent <= _recoveryStart)
        {
            return false;
        }

        _undo.Window = Window;
        _undo.SlowStartThreshold = SlowStartThreshold;
        _undo.RecoveryStart = _recoveryStart;
        Save();
        _events++;
        _recoveryStart = now;
        _acked = 0;
        Reduce();
        return true;
    }

    private void BeginRound()
    {
        _roundStart = _lastSent;
        _mostInFlightBefore = _mostInFlight;
        _mostInFlight = BytesInFlight;
        _filledWindowBefore = _filledWindow;
        _filledWindow = false;
        if (IsInFirstSlowStart && _hyStart.OnRound())
        {
            SlowStartThreshold = Window;
        }
    }

    private struct UndoState
    {
        public long Window;
        public long SlowStartThreshold;
        public long RecoveryStart;
        public int Lost;
        public bool IsPossible;
    }
}
