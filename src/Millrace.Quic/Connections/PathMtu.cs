namespace Millrace.Quic.Connections;

/// <summary>
/// The largest datagram of a path: packetization layer path MTU discovery for datagrams (RFC 8899, as RFC 9000 section 14.3 uses it).
/// Probes are padded PINGs; their loss is no sign of congestion. When large packets are lost again and again it returns to the base
/// size. One path's; it reads no clock and sends nothing.
/// </summary>
internal sealed class PathMtu
{
    /// <summary>What each path must carry (RFC 9000, section 14).</summary>
    public const int BaseSize = 1200;

    private const int MaximumProbes = 3;

    /// <summary>The search ends when it can win fewer bytes than these.</summary>
    private const int SearchStep = 20;

    /// <summary>Large packets lost in a row, without any acknowledged, until the path is a black hole for them.</summary>
    private const int BlackHoleLosses = 8;

    /// <summary>When a finished search begins again: paths change (RFC 8899, section 5.1.1).</summary>
    private const long RaiseInterval = 600 * QuicClock.Second;

    private const long BlackHoleInterval = 60 * QuicClock.Second;

    private readonly int _maximum;
    private int _upper;
    private int _peerMaximum = int.MaxValue;
    private int _probeSize;
    private int _probesLost;
    private int _largeLosses;
    private long _nextSearch = QuicClock.Never;
    private bool _isProbeInFlight;
    private bool _isEnabled;

    /// <summary><paramref name="maximum"/>: the largest size that is tried: the interface's, or that of a buffer.</summary>
    public PathMtu(int maximum)
    {
        _maximum = Math.Max(maximum, BaseSize);
        _upper = _maximum;
    }

    /// <summary>The size of full datagrams now.</summary>
    public int Size { get; private set; } = BaseSize;

    /// <summary>When a search begins again; it needs a call of <see cref="OnTimeout"/>.</summary>
    public long NextTimeout => _nextSearch;

    /// <summary>The peer receives datagrams up to this size: its max_udp_payload_size.</summary>
    public void LimitTo(int peerMaximum)
    {
        _peerMaximum = Math.Max(peerMaximum, BaseSize);
        _upper = Math.Min(_upper, _peerMaximum);
        Size = Math.Min(Size, _upper);
    }

    /// <summary>Begins to search, when the handshake is confirmed and the path is valid.</summary>
    public void Enable()
    {
        if (!_isEnabled)
        {
            _isEnabled = true;
            Plan();
        }
    }

    /// <summary>The size of the probe to send now; 0: none.</summary>
    public int ProbeSize => _isEnabled && !_isProbeInFlight ? _probeSize : 0;

    public void OnProbeSent() => _isProbeInFlight = true;

    public void OnProbeAcknowledged(int size, long now)
    {
        _isProbeInFlight = false;
        if (size > Size && size <= _upper)
        {
            Size = size;
            _largeLosses = 0;
        }

        _probesLost = 0;
        PlanOrWait(now);
    }

    public void OnProbeLost(int size, long now)
    {
        _isProbeInFlight = false;
        if (size == _probeSize && ++_probesLost >= MaximumProbes)
        {
            _probesLost = 0;
            _upper = Math.Max(BaseSize, size - 1);
            PlanOrWait(now);
        }
    }

    /// <summary>A packet that is no probe was acknowledged: packets of its size pass.</summary>
    public void OnAcknowledged(int size)
    {
        if (size > BaseSize)
        {
            _largeLosses = 0;
        }
    }

    /// <summary>A packet that is no probe was lost. True: full datagrams are smaller from now on.</summary>
    public bool OnLost(int size, long now)
    {
        if (size <= BaseSize || Size == BaseSize || ++_largeLosses < BlackHoleLosses)
        {
            return false;
        }

        Fall(now);
        return true;
    }

    /// <summary>
    /// Nothing was acknowledged for two probe timeouts, so that losses are not found either: large datagrams may be the reason. True: full
    /// datagrams are smaller from now on.
    /// </summary>
    public bool OnSilence(long now)
    {
        if (Size == BaseSize)
        {
            return false;
        }

        Fall(now);
        return true;
    }

    public void OnTimeout(long now)
    {
        if (now >= _nextSearch)
        {
            _nextSearch = QuicClock.Never;
            _upper = Math.Min(_maximum, _peerMaximum);
            Plan();
        }
    }

    private void Fall(long now)
    {
        _largeLosses = 0;
        _probesLost = 0;
        Size = BaseSize;
        _probeSize = 0;
        _nextSearch = QuicClock.After(now, BlackHoleInterval);
    }

    private void PlanOrWait(long now)
    {
        Plan();
        if (_probeSize == 0)
        {
            _nextSearch = QuicClock.After(now, RaiseInterval);
        }
    }

    /// <summary>First the largest, since most paths carry it; then halves.</summary>
    private void Plan()
    {
        int room = _upper - Size;
        bool isFirst = _upper == Math.Min(_maximum, _peerMaximum);
        _probeSize = isFirst && room > 0 ? _upper : room < SearchStep ? 0 : Size + ((room + 1) / 2);
    }
}
