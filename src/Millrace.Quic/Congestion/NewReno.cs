using Millrace.Quic.Recovery;

namespace Millrace.Quic.Congestion;

/// <summary>The controller of RFC 9002, section 7: one datagram more in each round-trip time, half the window at congestion.</summary>
internal sealed class NewReno(int maximumDatagramSize) : CongestionController(maximumDatagramSize)
{
    private long _acked;
    private long _savedAcked;

    protected override void Avoid(long acked, RttEstimator rtt, long now)
    {
        _acked += acked;
        while (_acked >= Window)
        {
            _acked -= Window;
            Window += MaximumDatagramSize;
        }
    }

    protected override void Reduce()
    {
        Window = Math.Max(Window / 2, MinimumWindow);
        SlowStartThreshold = Window;
        _acked = 0;
    }

    protected override void Save() => _savedAcked = _acked;

    protected override void Restore() => _acked = _savedAcked;

    protected override void Collapse() => _acked = 0;
}
