using Millrace.Quic.Congestion;

namespace Millrace.Quic.Recovery;

/// <summary>
/// Loss detection and congestion control of one connection (RFC 9002, with its appendices A and B). The connection owns it, reports what is
/// sent and acknowledged, asks for <see cref="NextTimeout"/> and calls <see cref="OnTimeout"/>. All times are nanoseconds of one monotonic
/// clock. Owners of frames are called within these calls. One thread.
/// </summary>
internal sealed class LossDetection : ISentPacketResults
{
    /// <summary>No timer.</summary>
    public const long Never = long.MaxValue;

    /// <summary>kPacketThreshold, and how far it grows when packets prove to be reordered (RFC 9002, section 6.1.1).</summary>
    private const int PacketThreshold = 3;
    private const int MaximumPacketThreshold = 64;

    /// <summary>kTimeThreshold is 1 + 1/8; the part in eighths doubles when packets prove to be late, up to 1 + 8/8.</summary>
    private const int MaximumTimeEighths = 8;

    /// <summary>kPersistentCongestionThreshold.</summary>
    private const int PersistentCongestionThreshold = 3;

    /// <summary>A probe timeout doubles so often at most; no timer is that long.</summary>
    private const int MaximumBackoff = 16;

    private readonly SentPackets[] _spaces;
    private readonly int[] _probes = new int[3];
    private readonly long[] _ackedTimes = [long.MinValue, long.MinValue, long.MinValue];
    private readonly SentFramePool _frames = new();
    private readonly ISentFrameOwner _owner;
    private readonly ISentPacketObserver? _observer;
    private readonly bool _isClient;
    private int _packetThreshold = PacketThreshold;
    private int _timeEighths = 1;
    private bool _hasHandshakeAck;
    private long _timerSet;

    public LossDetection(bool isClient, RecoveryOptions options, ISentFrameOwner owner, ISentPacketObserver? observer = null)
    {
        _isClient = isClient;
        _owner = owner;
        _observer = observer;
        Rtt = new RttEstimator(options.InitialRtt);
        Congestion = CongestionController.Create(options.Algorithm, options.MaximumDatagramSize);
        Pacer = new Pacer(Congestion, Rtt);
        Ecn = new EcnValidation(options.UsesEcn);
        _spaces =
        [
            new SentPackets(PacketSpace.Initial, _frames, this, skipSeed: 0),
            new SentPackets(PacketSpace.Handshake, _frames, this, skipSeed: 0),
            new SentPackets(PacketSpace.Application, _frames, this, options.SkipSeed),
        ];
    }

    public RttEstimator Rtt { get; }

    public CongestionController Congestion { get; }

    public Pacer Pacer { get; }

    public EcnValidation Ecn { get; }

    /// <summary>The path whose round-trip time and congestion are measured. Packets on others only have their frames recovered.</summary>
    public byte CurrentPath { get; private set; }

    /// <summary>Consecutive probe timeouts without an acknowledgement.</summary>
    public int PtoCount { get; private set; }

    /// <summary>max_ack_delay of the peer's transport parameters, in nanoseconds.</summary>
    public long PeerMaximumAckDelay { get; set; } = ReceivedPackets.DefaultMaximumAckDelay;

    /// <summary>Keys to send Handshake packets are there: a client's probes are Handshake packets.</summary>
    public bool HasHandshakeKeys { get; set; }

    /// <summary>The handshake is confirmed (RFC 9001, section 4.1.2): 1-RTT packets have a probe timeout.</summary>
    public bool IsHandshakeConfirmed { get; set; }

    /// <summary>A server that may not send more before it receives: its probe timeout waits (RFC 9002, section 6.2.2.1).</summary>
    public bool IsAmplificationLimited { get; set; }

    /// <summary>Frames of packets that are in flight or were lost lately, but for the first of each.</summary>
    public int FurtherFrames => _frames.Count;

    /// <summary>Memory of records of packets, beyond what each connection has. Handshakes have few.</summary>
    public long HeldBytes => _spaces[(int)PacketSpace.Application].HeldBytes + _frames.HeldBytes;

    /// <summary>When <see cref="OnTimeout"/> is to be called; <see cref="Never"/>: not before something is sent or received.</summary>
    public long NextTimeout
    {
        get
        {
            long lossTime = EarliestLossTime(out _);
            return lossTime != Never ? lossTime : PtoTime(out _);
        }
    }

    /// <summary>Packets in flight anywhere ask for an acknowledgement.</summary>
    public bool HasAckElicitingInFlight => _spaces[0].AckElicitingCount + _spaces[1].AckElicitingCount + _spaces[2].AckElicitingCount > 0;

    /// <summary>Packets that were declared lost, rightly or not.</summary>
    public long PacketsLost => _spaces[0].LostCount + _spaces[1].LostCount + _spaces[2].LostCount;

    /// <summary>A client does not know that the server has validated its address until it hears so (RFC 9002, appendix A.8).</summary>
    private bool HasPeerValidatedAddress => !_isClient || _hasHandshakeAck || IsHandshakeConfirmed;

    /// <summary>The packets of a space, with the number of the next one.</summary>
    public SentPackets this[PacketSpace space] => _spaces[(int)space];

    /// <summary>The probe timeout, without backoff (RFC 9002, section 6.2.1).</summary>
    public long PtoPeriod(PacketSpace space) => Rtt.Timeout + (space == PacketSpace.Application ? PeerMaximumAckDelay : 0);

    /// <summary>
    /// Ack-eliciting packets to send in a space now, whatever the congestion window says; the count goes down as they are sent. A client's
    /// Initial probe is padded; a probe for which there is nothing else carries a PING.
    /// </summary>
    public int ProbesPending(PacketSpace space) => _probes[(int)space];

    /// <summary>
    /// A packet was sent: the caller sets its number, which is the space's next one, time, size, traits, mark and path. Takes the frames
    /// and clears the list.
    /// </summary>
    public void OnPacketSent(PacketSpace space, in SentPacket packet, SentFrameList frames)
    {
        bool isOnPath = packet.Path == CurrentPath;
        if (packet.IsInFlight && isOnPath)
        {
            Congestion.OnPacketSent(packet.Size, packet.TimeSent);
            Pacer.OnPacketSent(packet.Size, packet.TimeSent);
        }

        if (packet.IsAckEliciting)
        {
            _timerSet = packet.TimeSent;
            _probes[(int)space] = Math.Max(0, _probes[(int)space] - 1);
        }

        Ecn.OnPacketSent(space, packet.Ecn);
        _spaces[(int)space].OnSent(packet, isOnPath, frames.AsSpan);
        frames.Clear();
    }

    /// <summary>
    /// An ACK frame arrived. <paramref name="ackDelay"/>: its delay in nanoseconds, scaled by the peer's exponent;
    /// <paramref name="counts"/>: its ECN counts, if it has them. After a result other than Valid the connection is to be closed with
    /// PROTOCOL_VIOLATION.
    /// </summary>
    public AckResult OnAckReceived<TRanges>(
        PacketSpace space, long largest, ref TRanges ranges, long ackDelay, EcnCounts? counts, long now)
        where TRanges : IAckRanges, allows ref struct
    {
        SentPackets sent = _spaces[(int)space];
        bool raisesLargest = largest > sent.LargestAcknowledged;
        var summary = default(AckSummary);
        AckResult result = sent.Acknowledge(largest, ref ranges, ref summary);
        if (result != AckResult.Valid || summary.Packets == 0)
        {
            return result;
        }

        _hasHandshakeAck |= space == PacketSpace.Handshake;
        bool hasSample = summary is { IsLargestNew: true, HasAckEliciting: true };
        if (hasSample)
        {
            long delay = space == PacketSpace.Initial ? 0 : ackDelay;
            Rtt.Update(now - summary.LargestTimeSent, delay, IsHandshakeConfirmed ? PeerMaximumAckDelay : long.MaxValue, now);
        }

        if (raisesLargest && Ecn.OnAck(space, summary.Ect0, counts) && summary.IsLargestNew)
        {
            Congestion.OnEcnCongestion(summary.LargestTimeSent, now);
        }

        DetectLosses(sent, now);
        Congestion.OnAckProcessed(Rtt, hasSample, now);
        if (HasPeerValidatedAddress)
        {
            PtoCount = 0;
        }

        _timerSet = now;
        return AckResult.Valid;
    }

    /// <summary>The time of <see cref="NextTimeout"/> has come, perhaps: declares packets lost, or asks for probes.</summary>
    public void OnTimeout(long now)
    {
        if (now < NextTimeout)
        {
            return;
        }

        if (EarliestLossTime(out SentPackets? late) != Never)
        {
            DetectLosses(late!, now);
            return;
        }

        PtoTime(out PacketSpace space);
        _timerSet = now;
        PtoCount++;
        Ecn.OnTimeout();
        if (_spaces[(int)space].AckElicitingCount == 0)
        {
            // A client that owes nothing but may be what the server waits for, to be allowed to send (RFC 9002, section 6.2.2.1).
            _probes[(int)space] = 1;
            return;
        }

        Probe(space);
        if (space != PacketSpace.Application)
        {
            Probe(space == PacketSpace.Initial ? PacketSpace.Handshake : PacketSpace.Initial);
        }
    }

    /// <summary>The keys of a space are discarded: its packets are forgotten, without a loss (RFC 9002, section 6.4).</summary>
    public void DiscardSpace(PacketSpace space, long now)
    {
        SentPackets sent = _spaces[(int)space];
        if (!sent.IsDiscarded)
        {
            sent.Discard();
            _probes[(int)space] = 0;
            PtoCount = 0;
            _timerSet = now;
        }
    }

    /// <summary>A client received a Retry: what its Initial packets carried is sent again (RFC 9002, section 6.3).</summary>
    public void OnRetry(long firstSent, long now)
    {
        _spaces[(int)PacketSpace.Initial].RequeueAll();
        _spaces[(int)PacketSpace.Application].RequeueAll();
        Congestion.Reset();
        Pacer.Reset();
        if (PtoCount == 0)
        {
            // After a probe it is not known which packet the Retry answers: a time with a timeout in it is no round trip.
            Rtt.Assume(now - firstSent);
        }

        PtoCount = 0;
        Array.Clear(_probes);
        _timerSet = now;
    }

    /// <summary>
    /// The connection migrates: congestion, round-trip time and ECN of the new path are unknown (RFC 9000, section 9.4). What is in flight
    /// on the old one is recovered as before. <paramref name="keepsEstimates"/>: only the peer's port has changed.
    /// </summary>
    public void ResetForNewPath(byte path, bool keepsEstimates, long now)
    {
        CurrentPath = path;
        PtoCount = 0;
        _timerSet = now;
        if (keepsEstimates)
        {
            return;
        }

        foreach (SentPackets sent in _spaces)
        {
            sent.Uncount();
        }

        Congestion.Reset();
        Rtt.Reset();
        Pacer.Reset();
        Ecn.Reset();
        _packetThreshold = PacketThreshold;
        _timeEighths = 1;
    }

    /// <summary>Gives back memory of records that are not in use, when nothing is in flight. False: there is none.</summary>
    public bool TryTrim() => _spaces[(int)PacketSpace.Application].TryTrim() | _frames.TryTrim();

    void ISentPacketResults.OnAcked(PacketSpace space, ref SentPacket packet)
    {
        if (packet.IsCounted)
        {
            packet.IsCounted = false;
            Congestion.OnPacketAcked(packet.Size, packet.TimeSent);
        }

        _ackedTimes[(int)space] = Math.Max(_ackedTimes[(int)space], packet.TimeSent);
        ReportAcked(space, ref packet);
    }

    void ISentPacketResults.OnLost(PacketSpace space, ref SentPacket packet)
    {
        if (packet.IsCounted)
        {
            packet.IsCounted = false;
            Congestion.OnPacketLost(packet.Size);
            if (!packet.IsMtuProbe)
            {
                packet.CongestionEvent = Congestion.OnCongestion(packet.TimeSent, packet.TimeLost);
            }
        }

        if (packet.IsOnPath && packet.Ecn == EcnMark.Ect0)
        {
            Ecn.OnPacketLost();
        }

        if (!packet.IsRequeued)
        {
            ReportLost(packet);
        }

        _observer?.OnPacketLost(space, packet);
    }

    void ISentPacketResults.OnSpuriouslyLost(PacketSpace space, ref SentPacket packet)
    {
        if (packet.IsOnPath)
        {
            long distance = _spaces[(int)space].LargestAcknowledged - packet.Number;
            _packetThreshold = (int)Math.Clamp(distance + 1, _packetThreshold, MaximumPacketThreshold);
            _timeEighths = packet.IsLostByTime ? Math.Min(_timeEighths * 2, MaximumTimeEighths) : _timeEighths;
            if (packet.CongestionEvent != 0)
            {
                Congestion.OnSpuriousLoss(packet.CongestionEvent);
            }
        }

        ReportAcked(space, ref packet);
    }

    void ISentPacketResults.OnRequeued(ref SentPacket packet) => ReportLost(packet);

    void ISentPacketResults.OnRemoved(ref SentPacket packet)
    {
        if (packet.IsCounted)
        {
            packet.IsCounted = false;
            Congestion.OnPacketRemoved(packet.Size);
        }
    }

    /// <summary>Twice where packets wait for an acknowledgement: one of two probes may be lost as well.</summary>
    private void Probe(PacketSpace space)
    {
        SentPackets sent = _spaces[(int)space];
        if (sent.AckElicitingCount > 0)
        {
            _probes[(int)space] = 2;
            sent.Requeue(2);
        }
    }

    private void DetectLosses(SentPackets sent, long now)
    {
        long rtt = Math.Max(Rtt.Latest, Rtt.Smoothed);
        long delay = Math.Max(rtt + (rtt * _timeEighths / 8), RttEstimator.Granularity);
        long span = sent.DetectLosses(now, delay, _packetThreshold, Rtt.FirstSampleTime, LastAckedElsewhere(sent.Space));
        if (span > PersistentCongestionThreshold * (Rtt.Timeout + PeerMaximumAckDelay))
        {
            Congestion.OnPersistentCongestion();
            Rtt.ResetMinimum();
            foreach (SentPackets each in _spaces)
            {
                each.ResetLostRun();
            }
        }

        // One that is that late will not come.
        sent.ForgetLostBefore(now - (2 * PtoPeriod(sent.Space)));
    }

    private long LastAckedElsewhere(PacketSpace space)
    {
        long last = long.MinValue;
        for (int i = 0; i < _ackedTimes.Length; i++)
        {
            last = i == (int)space ? last : Math.Max(last, _ackedTimes[i]);
        }

        return last;
    }

    private long EarliestLossTime(out SentPackets? earliest)
    {
        earliest = null;
        long time = Never;
        foreach (SentPackets sent in _spaces)
        {
            if (sent.LossTime < time)
            {
                time = sent.LossTime;
                earliest = sent;
            }
        }

        return time;
    }

    private long PtoTime(out PacketSpace space)
    {
        space = HasHandshakeKeys ? PacketSpace.Handshake : PacketSpace.Initial;
        if (IsAmplificationLimited)
        {
            return Never;
        }

        int backoff = Math.Min(PtoCount, MaximumBackoff);
        long earliest = Never;
        foreach (SentPackets sent in _spaces)
        {
            if (sent.AckElicitingCount == 0 || (sent.Space == PacketSpace.Application && !IsHandshakeConfirmed))
            {
                continue;
            }

            long time = sent.LastAckElicitingTime + (PtoPeriod(sent.Space) << backoff);
            if (time < earliest)
            {
                earliest = time;
                space = sent.Space;
            }
        }

        return earliest == Never && !HasPeerValidatedAddress ? _timerSet + (Rtt.Timeout << backoff) : earliest;
    }

    private void ReportAcked(PacketSpace space, ref SentPacket packet)
    {
        if (packet.HasFrames)
        {
            _owner.OnAcked(packet.Frame);
        }

        for (int index = packet.Frames; index != SentFramePool.None;)
        {
            _owner.OnAcked(_frames.Get(index, out index));
        }

        _observer?.OnPacketAcked(space, packet);
    }

    private void ReportLost(in SentPacket packet)
    {
        if (packet.HasFrames)
        {
            _owner.OnLost(packet.Frame);
        }

        for (int index = packet.Frames; index != SentFramePool.None;)
        {
            _owner.OnLost(_frames.Get(index, out index));
        }
    }
}
