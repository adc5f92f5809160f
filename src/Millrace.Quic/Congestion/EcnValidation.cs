using Millrace.Quic.Recovery;

namespace Millrace.Quic.Congestion;

internal enum EcnState : byte
{
    /// <summary>This end does not mark.</summary>
    Disabled,

    /// <summary>The first packets of the path are marked.</summary>
    Testing,

    /// <summary>They are sent, and it is not known what became of them; no others are marked.</summary>
    Unknown,

    /// <summary>The path or the peer does not keep marks.</summary>
    Failed,

    /// <summary>Packets are marked.</summary>
    Capable,
}

/// <summary>
/// Decides whether packets are sent with ECT(0), by whether the path keeps the marks and the peer counts them (RFC 9000, section 13.4.2 and
/// appendix A.4). Owned by the connection's <see cref="LossDetection"/>; one thread.
/// </summary>
internal sealed class EcnValidation(bool isEnabled)
{
    /// <summary>So many packets are marked as a test.</summary>
    private const int TestPackets = 10;

    /// <summary>If all of so many are lost, the mark is the likely cause.</summary>
    private const int LossesThatFail = 3;

    /// <summary>Probe timeouts without a marked packet that is acknowledged in between.</summary>
    private const int TimeoutsThatFail = 3;

    private readonly Space[] _spaces = new Space[3];
    private int _tested;
    private int _lost;
    private int _timeouts;
    private bool _isSuspended;

    public EcnState State { get; private set; } = isEnabled ? EcnState.Testing : EcnState.Disabled;

    /// <summary>The mark of the next packet.</summary>
    public EcnMark Mark => State == EcnState.Capable || (State == EcnState.Testing && !_isSuspended) ? EcnMark.Ect0 : EcnMark.NotEct;

    public void OnPacketSent(PacketSpace space, EcnMark mark)
    {
        if (mark != EcnMark.Ect0)
        {
            return;
        }

        _spaces[(int)space].Sent++;
        if (State == EcnState.Testing && ++_tested >= TestPackets)
        {
            State = EcnState.Unknown;
        }
    }

    /// <summary>A marked packet of this path is lost: if all of the test so far are, something drops marked packets.</summary>
    public void OnPacketLost()
    {
        if (State is EcnState.Testing or EcnState.Unknown && ++_lost >= _tested && _tested >= LossesThatFail)
        {
            State = EcnState.Failed;
        }
    }

    /// <summary>
    /// A probe timeout: if marks are the cause, packets without them arrive. The test goes on after an acknowledgement. A path that was
    /// capable, and has not been in some timeouts, has changed.
    /// </summary>
    public void OnTimeout()
    {
        _isSuspended = true;
        if (State == EcnState.Capable && ++_timeouts >= TimeoutsThatFail)
        {
            State = EcnState.Failed;
        }
    }

    /// <summary>
    /// An ACK frame that raised the largest acknowledged number. <paramref name="acked"/>: packets that it newly acknowledges and that were
    /// sent with ECT(0). True: the network has marked packets since the last one, and the sender slows down.
    /// </summary>
    public bool OnAck(PacketSpace space, int acked, EcnCounts? counts)
    {
        _isSuspended = false;
        _timeouts = acked > 0 ? 0 : _timeouts;
        ref Space known = ref _spaces[(int)space];
        if (counts is not { } reported)
        {
            Fail(acked > 0);
            return false;
        }

        long ect0 = reported.Ect0 - known.Counts.Ect0;
        long ce = reported.Ce - known.Counts.Ce;
        bool isValid = ect0 >= 0 && ce >= 0 && ect0 + ce >= acked && reported.Ect1 == 0 && reported.Ect0 + reported.Ce <= known.Sent;
        known.Counts = reported;
        Fail(!isValid);
        if (!isValid || State is EcnState.Disabled or EcnState.Failed)
        {
            return false;
        }

        if (acked > 0)
        {
            State = EcnState.Capable;
        }

        return ce > 0;
    }

    /// <summary>Another path: it is tested. The counts of the number spaces go on.</summary>
    public void Reset()
    {
        State = isEnabled ? EcnState.Testing : EcnState.Disabled;
        _tested = 0;
        _lost = 0;
        _isSuspended = false;
    }

    private void Fail(bool hasFailed)
    {
        if (hasFailed && State != EcnState.Disabled)
        {
            State = EcnState.Failed;
        }
    }

    private struct Space
    {
        /// <summary>The last counts that the peer reported.</summary>
        public EcnCounts Counts;

        /// <summary>Packets sent with ECT(0).</summary>
        public long Sent;
    }
}
