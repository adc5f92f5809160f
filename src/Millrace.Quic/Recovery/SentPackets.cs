using System.Diagnostics;
using System.Numerics;
using System.Runtime.CompilerServices;

namespace Millrace.Quic.Recovery;

/// <summary>Whether an ACK frame can be true. Anything but <see cref="Valid"/> is a PROTOCOL_VIOLATION (RFC 9000, section 13.1).</summary>
internal enum AckResult : byte
{
    Valid,

    /// <summary>It acknowledges a number that was not sent yet.</summary>
    NeverSent,

    /// <summary>It acknowledges a number that was left out: the peer acknowledges what it has not received.</summary>
    Skipped,
}

/// <summary>What one ACK frame newly acknowledges.</summary>
internal struct AckSummary
{
    public int Packets;
    public bool HasAckEliciting;

    /// <summary>Packets that were sent with ECT(0).</summary>
    public int Ect0;

    /// <summary>The frame's largest number is newly acknowledged, and its packet was sent on the current path.</summary>
    public bool IsLargestNew;
    public long LargestTimeSent;
}

/// <summary>Learns from <see cref="SentPackets"/> what became of a packet. The record may be changed within the call.</summary>
internal interface ISentPacketResults
{
    void OnAcked(PacketSpace space, ref SentPacket packet);

    void OnLost(PacketSpace space, ref SentPacket packet);

    /// <summary>A packet that was declared lost is acknowledged.</summary>
    void OnSpuriouslyLost(PacketSpace space, ref SentPacket packet);

    /// <summary>The frames of a packet are sent again, though it is not lost (yet).</summary>
    void OnRequeued(ref SentPacket packet);

    /// <summary>A packet is forgotten without a result.</summary>
    void OnRemoved(ref SentPacket packet);
}

/// <summary>
/// The packets that one number space has sent and that are neither acknowledged nor lost: a ring of records by number. An ACK frame costs
/// what it newly acknowledges and a constant for each range, as everything below the largest acknowledged number, but for a few, is lost.
/// Owned by <see cref="LossDetection"/>; one thread; allocates only to grow, and in <see cref="TryTrim"/>.
/// </summary>
internal sealed class SentPackets(PacketSpace space, SentFramePool pool, ISentPacketResults results, ulong skipSeed)
{
    private const long None = long.MaxValue;

    /// <summary>Records of packets that are not in flight, which nobody has to acknowledge, that are kept at most.</summary>
    private const int NotInFlightMaximum = 256;

    /// <summary>Records that a connection has room for at any time; a power of two.</summary>
    private const int RingLengthKept = 64;

    private readonly PacketNumberSkipper _skipper = new(skipSeed);
    private readonly LostPackets _lost = new(pool);
    private SentPacket[] _ring = [];
    private long _base;
    private long _lostRunStart = None;

    public PacketSpace Space { get; } = space;

    /// <summary>The number of the next packet.</summary>
    public long NextNumber { get; private set; }

    /// <summary>-1 before the first ACK frame.</summary>
    public long LargestAcknowledged { get; private set; } = -1;

    /// <summary>Ack-eliciting packets that are neither acknowledged nor lost.</summary>
    public int AckElicitingCount { get; private set; }

    public long LastAckElicitingTime { get; private set; }

    /// <summary>Packets that were declared lost, rightly or not.</summary>
    public long LostCount { get; private set; }

    /// <summary>When the first packet is declared lost that is not yet; <see cref="long.MaxValue"/>: none waits for it.</summary>
    public long LossTime { get; private set; } = None;

    /// <summary>
    /// Packets that were sent since the last ack-eliciting one. An end that only receives adds a PING to every 20th or so, to learn which
    /// of its ACK frames have arrived (RFC 9000, section 13.2.4).
    /// </summary>
    public int NotElicitingSince { get; private set; }

    /// <summary>The keys of the space were discarded.</summary>
    public bool IsDiscarded { get; private set; }

    /// <summary>Records that are held.</summary>
    public int Count => (int)(NextNumber - _base);

    /// <summary>Memory of records beyond the few that each connection has.</summary>
    public long HeldBytes => (long)Math.Max(0, _ring.Length - RingLengthKept) * Unsafe.SizeOf<SentPacket>();

    /// <summary>Takes the record of a packet; <paramref name="isOnPath"/>: it was sent on the current path.</summary>
    public void OnSent(in SentPacket packet, bool isOnPath, ReadOnlySpan<SentFrame> frames)
    {
        Debug.Assert(packet.Number == NextNumber, "Packets are numbered in order.");
        ref SentPacket record = ref Append();
        record = packet;
        record.State = SentPacketState.Outstanding;
        record.IsOnPath = isOnPath;
        record.IsCounted = isOnPath && packet.IsInFlight;
        record.Frame = frames.IsEmpty ? default : frames[0];
        record.Frames = frames.Length > 1 ? pool.Add(frames[1..]) : SentFramePool.None;
        if (packet.IsAckEliciting)
        {
            AckElicitingCount++;
            LastAckElicitingTime = packet.TimeSent;
            NotElicitingSince = 0;
        }
        else
        {
            NotElicitingSince++;
            ForgetNotInFlight();
        }

        if (_skipper.Skips(NextNumber))
        {
            SentPacket skipped = new() { Number = NextNumber, State = SentPacketState.Skipped, Frames = SentFramePool.None };
            Append() = skipped;
        }
    }

    /// <summary>Takes the ranges of an ACK frame. After a result other than Valid the connection is to be closed.</summary>
    public AckResult Acknowledge<TRanges>(long largest, ref TRanges ranges, ref AckSummary summary)
        where TRanges : IAckRanges, allows ref struct
    {
        if (largest >= NextNumber)
        {
            return AckResult.NeverSent;
        }

        LargestAcknowledged = Math.Max(LargestAcknowledged, largest);
        while (ranges.TryRead(out PacketRange range))
        {
            if (range.Largest > largest)
            {
                return AckResult.NeverSent;
            }

            if (_skipper.IsIn(range))
            {
                return AckResult.Skipped;
            }

            AcknowledgeLost(range, ref summary);
            for (long number = Math.Max(range.Smallest, _base); number <= range.Largest; number++)
            {
                ref SentPacket packet = ref At(number);
                if (packet.State == SentPacketState.Outstanding)
                {
                    AcknowledgeOne(ref packet, largest, ref summary);
                }
            }
        }

        return AckResult.Valid;
    }

    /// <summary>
    /// Declares packets lost, by their distance to the largest acknowledged one or by their age (RFC 9002, section 6.1). Returns for how
    /// long all ack-eliciting packets were lost: the largest distance in time of two of them, without one that was acknowledged between
    /// (section 7.6). <paramref name="since"/>: those sent before do not count; <paramref name="ackedTime"/>: when the last packet
    /// was sent that another space had acknowledged.
    /// </summary>
    public long DetectLosses(long now, long delay, int threshold, long since, long ackedTime)
    {
        LossTime = None;
        long span = 0;
        for (; _base < NextNumber; _base++)
        {
            ref SentPacket packet = ref At(_base);
            if (packet.State == SentPacketState.Outstanding)
            {
                if (_base > LargestAcknowledged)
                {
                    break;
                }

                bool isByPackets = LargestAcknowledged - _base >= threshold;
                if (!isByPackets && packet.TimeSent + delay > now)
                {
                    LossTime = packet.TimeSent + delay;
                    break;
                }

                if (packet.IsAckEliciting && packet.IsCounted && packet.TimeSent > since)
                {
                    span = Math.Max(span, ExtendLostRun(packet.TimeSent, ackedTime));
                }

                packet.IsLostByTime = !isByPackets;
                Lose(ref packet, now);
            }
            else if (packet.State == SentPacketState.Acknowledged)
            {
                _lostRunStart = None;
            }
        }

        return span;
    }

    /// <summary>Persistent congestion was declared: the next one begins with what is sent from now on.</summary>
    public void ResetLostRun() => _lostRunStart = None;

    /// <summary>Has the frames of the oldest packets sent again, in probes (RFC 9002, section 6.2.4).</summary>
    public void Requeue(int packets)
    {
        for (long number = _base; number < NextNumber && packets > 0; number++)
        {
            ref SentPacket packet = ref At(number);
            if (packet is { State: SentPacketState.Outstanding, IsAckEliciting: true, IsRequeued: false, HasFrames: true })
            {
                packet.IsRequeued = true;
                results.OnRequeued(ref packet);
                packets--;
            }
        }
    }

    /// <summary>Takes packets from the bytes in flight: the path has changed.</summary>
    public void Uncount()
    {
        for (long number = _base; number < NextNumber; number++)
        {
            ref SentPacket packet = ref At(number);
            packet.IsCounted = false;
            packet.IsOnPath = false;
        }

        _lostRunStart = None;
    }

    /// <summary>Forgets all packets: the keys are discarded (RFC 9002, section 6.4).</summary>
    public void Discard()
    {
        RemoveAll();
        _ring = [];
        IsDiscarded = true;
    }

    /// <summary>Forgets all packets, and has their frames sent again, in packets with larger numbers: a Retry.</summary>
    public void RequeueAll()
    {
        Requeue(int.MaxValue);
        RemoveAll();
    }

    /// <summary>Forgets lost packets that will not be acknowledged any more.</summary>
    public void ForgetLostBefore(long time) => _lost.RemoveBefore(time);

    /// <summary>Gives back memory that records do not need now, if nothing is in flight. False: there is none.</summary>
    public bool TryTrim()
    {
        int length = Math.Max(RingLengthKept, (int)BitOperations.RoundUpToPowerOf2(2 * (uint)Count));
        bool isLess = AckElicitingCount == 0 && length < _ring.Length;
        if (isLess)
        {
            Resize(length);
        }

        return isLess;
    }

    private void RemoveAll()
    {
        for (; _base < NextNumber; _base++)
        {
            ref SentPacket packet = ref At(_base);
            if (packet.State == SentPacketState.Outstanding)
            {
                results.OnRemoved(ref packet);
                Release(ref packet);
            }
        }

        _lost.Clear();
        AckElicitingCount = 0;
        LossTime = None;
        _lostRunStart = None;
    }

    private long ExtendLostRun(long timeSent, long ackedTime)
    {
        if (_lostRunStart == None || (ackedTime > _lostRunStart && ackedTime < timeSent))
        {
            _lostRunStart = timeSent;
        }

        return timeSent - _lostRunStart;
    }

    private void AcknowledgeOne(ref SentPacket packet, long largest, ref AckSummary summary)
    {
        Summarize(packet, ref summary);
        if (packet.Number == largest)
        {
            summary.IsLargestNew = packet.IsOnPath;
            summary.LargestTimeSent = packet.TimeSent;
        }

        packet.State = SentPacketState.Acknowledged;
        AckElicitingCount -= packet.IsAckEliciting ? 1 : 0;
        results.OnAcked(Space, ref packet);
        Release(ref packet);
    }

    private void AcknowledgeLost(in PacketRange range, ref AckSummary summary)
    {
        for (int i = _lost.Find(range.Smallest); i < _lost.Count && _lost[i].Number <= range.Largest; i++)
        {
            ref SentPacket packet = ref _lost[i];
            if (packet.State == SentPacketState.Lost)
            {
                Summarize(packet, ref summary);
                packet.State = SentPacketState.Acknowledged;
                results.OnSpuriouslyLost(Space, ref packet);
                Release(ref packet);
            }
        }
    }

    private static void Summarize(in SentPacket packet, ref AckSummary summary)
    {
        summary.Packets++;
        summary.HasAckEliciting |= packet.IsAckEliciting;
        summary.Ect0 += packet.Ecn == EcnMark.Ect0 ? 1 : 0;
    }

    private void Lose(ref SentPacket packet, long now)
    {
        LostCount++;
        packet.State = SentPacketState.Lost;
        packet.TimeLost = now;
        AckElicitingCount -= packet.IsAckEliciting ? 1 : 0;
        results.OnLost(Space, ref packet);
        _lost.Add(packet);
        packet.Frames = SentFramePool.None;
    }

    private void Release(ref SentPacket packet)
    {
        pool.Release(packet.Frames);
        packet.Frames = SentFramePool.None;
    }

    /// <summary>An end that only receives sends nothing but ACK frames, of which no packet is ever acknowledged.</summary>
    private void ForgetNotInFlight()
    {
        while (Count > NotInFlightMaximum && !At(_base).IsInFlight)
        {
            ref SentPacket packet = ref At(_base);
            packet.State = SentPacketState.Acknowledged;
            Release(ref packet);
            _base++;
        }
    }

    private ref SentPacket At(long number) => ref _ring[(int)(number & (_ring.Length - 1))];

    /// <summary>The record of the next number, whose content is an older one's.</summary>
    private ref SentPacket Append()
    {
        if (Count == _ring.Length)
        {
            Resize(Math.Max(16, _ring.Length * 2));
        }

        return ref At(NextNumber++);
    }

    private void Resize(int length)
    {
        var ring = new SentPacket[length];
        for (long number = _base; number < NextNumber; number++)
        {
            ring[(int)(number & (length - 1))] = At(number);
        }

        _ring = ring;
    }
}
