using Millrace.Quic.Recovery;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>
/// A slow second implementation of RFC 9002's appendix A, and of what appendix B says of bytes in flight: it keeps every packet ever sent,
/// and computes each answer from all of them. Reordering thresholds are fixed, so packets that were lost are never acknowledged.
/// </summary>
internal sealed class RecoveryModel(bool isClient)
{
    private const double Millisecond = 1e6;

    /// <summary>loss_time: what it was when losses of the space were looked for last.</summary>
    private readonly double[] _lossTimes = [double.PositiveInfinity, double.PositiveInfinity, double.PositiveInfinity];

    public enum Fate
    {
        Sent,
        Acked,
        Lost,
        Dropped,
    }

    public sealed class Packet
    {
        public required PacketSpace Space { get; init; }

        public required long Number { get; init; }

        public required long Time { get; init; }

        public required int Size { get; init; }

        public required bool IsAckEliciting { get; init; }

        public required bool IsInFlight { get; init; }

        public Fate Fate { get; set; }

        /// <summary>When it was lost: the time at which the last packet was sent that another space had acknowledged.</summary>
        public long AckedElsewhere { get; set; }

        /// <summary>It was part of persistent congestion, or lost before that.</summary>
        public bool IsPersistent { get; set; }
    }

    public List<Packet> Packets { get; } = [];

    public bool HasHandshakeKeys { get; set; }

    public bool IsConfirmed { get; set; }

    public int PtoCount { get; private set; }

    public double Smoothed { get; private set; } = 333 * Millisecond;

    public double Variation { get; private set; } = 166.5 * Millisecond;

    private double Latest { get; set; }

    private double Minimum { get; set; } = double.NaN;

    private long FirstSample { get; set; } = long.MaxValue;

    private long LastEvent { get; set; }

    private bool HasHandshakeAck { get; set; }

    private bool IsValidated => !isClient || HasHandshakeAck || IsConfirmed;

    public long BytesInFlight => Packets.Where(packet => packet is { Fate: Fate.Sent, IsInFlight: true }).Sum(packet => (long)packet.Size);

    public void Send(Packet packet)
    {
        Packets.Add(packet);
        if (packet.IsAckEliciting)
        {
            LastEvent = packet.Time;
        }
    }

    public void Ack(PacketSpace space, long[] numbers, long delay, long now)
    {
        Packet[] acked = [.. Waiting(space).Where(packet => numbers.Contains(packet.Number))];
        if (acked.Length == 0)
        {
            return;
        }

        Packet last = acked.MaxBy(packet => packet.Number)!;
        if (last.Number == numbers.Max() && acked.Any(packet => packet.IsAckEliciting))
        {
            Sample(now - last.Time, space == PacketSpace.Initial ? 0 : delay, now);
        }

        foreach (Packet packet in acked)
        {
            packet.Fate = Fate.Acked;
        }

        HasHandshakeAck |= space == PacketSpace.Handshake;
        Detect(space, now);
        PtoCount = IsValidated ? 0 : PtoCount;
        LastEvent = now;
    }

    public double Timeout()
    {
        double loss = _lossTimes.Min();
        return double.IsFinite(loss) ? loss : ProbeTime(out _);
    }

    /// <summary>Runs the timer; returns the space that probes, if any does.</summary>
    public PacketSpace? Expire(long now)
    {
        PacketSpace space = Spaces.MinBy(each => _lossTimes[(int)each]);
        if (double.IsFinite(_lossTimes[(int)space]))
        {
            Detect(space, now);
            return null;
        }

        ProbeTime(out space);
        PtoCount++;
        LastEvent = now;
        return space;
    }

    public void Discard(PacketSpace space, long now)
    {
        foreach (Packet packet in Waiting(space))
        {
            packet.Fate = Fate.Dropped;
        }

        _lossTimes[(int)space] = double.PositiveInfinity;
        PtoCount = 0;
        LastEvent = now;
    }

    private static PacketSpace[] Spaces => Enum.GetValues<PacketSpace>();

    private IEnumerable<Packet> Waiting(PacketSpace space) => Packets.Where(packet => packet.Space == space && packet.Fate == Fate.Sent);

    private long LargestAcked(PacketSpace space) =>
        Packets.Where(packet => packet.Space == space && packet.Fate == Fate.Acked)
            .Select(packet => packet.Number).DefaultIfEmpty(-1).Max();

    private double Delay => Math.Max(9.0 / 8 * Math.Max(Latest, Smoothed), Millisecond);

    private void Sample(double sample, double delay, long now)
    {
        Latest = Math.Max(1, sample);
        if (double.IsNaN(Minimum))
        {
            FirstSample = now;
            Minimum = Smoothed = Latest;
            Variation = Latest / 2;
            return;
        }

        Minimum = Math.Min(Minimum, Latest);
        double counted = IsConfirmed ? Math.Min(delay, 25 * Millisecond) : delay;
        double adjusted = Latest >= Minimum + counted ? Latest - counted : Latest;
        Variation = (0.75 * Variation) + (0.25 * Math.Abs(Smoothed - adjusted));
        Smoothed = (0.875 * Smoothed) + (0.125 * adjusted);
    }

    private void Detect(PacketSpace space, long now)
    {
        long largest = LargestAcked(space);
        long elsewhere = Packets.Where(packet => packet.Space != space && packet.Fate == Fate.Acked).Select(packet => packet.Time)
            .DefaultIfEmpty(-1).Max();
        var lost = new HashSet<Packet>();
        foreach (Packet packet in Waiting(space).Where(packet => packet.Number < largest).ToArray())
        {
            if (packet.Number + 3 <= largest || packet.Time + Delay <= now + 1)
            {
                packet.Fate = Fate.Lost;
                packet.AckedElsewhere = elsewhere;
                lost.Add(packet);
            }
        }

        if (LostSpan(space, lost) > 3 * (Smoothed + Math.Max(4 * Variation, Millisecond) + (25 * Millisecond)))
        {
            Minimum = Latest;
            foreach (Packet packet in Packets.Where(packet => packet.Fate == Fate.Lost))
            {
                packet.IsPersistent = true;
            }
        }

        _lossTimes[(int)space] = Waiting(space).Where(packet => packet.Number < largest).Select(packet => packet.Time + Delay)
            .DefaultIfEmpty(double.PositiveInfinity).Min();
    }

    /// <summary>The longest time between two lost ack-eliciting packets, the second newly lost, with no acknowledged one between.</summary>
    private long LostSpan(PacketSpace space, HashSet<Packet> lost)
    {
        long span = 0;
        Packet? first = null;
        foreach (Packet packet in Packets.Where(packet => packet.Space == space).OrderBy(packet => packet.Number))
        {
            if (packet.Fate == Fate.Acked)
            {
                first = null;
            }
            else if (packet is { Fate: Fate.Lost, IsAckEliciting: true, IsPersistent: false } && packet.Time > FirstSample)
            {
                bool isBroken = first is not null && packet.AckedElsewhere > first.Time && packet.AckedElsewhere < packet.Time;
                first = first is null || isBroken ? packet : first;
                span = lost.Contains(packet) ? Math.Max(span, packet.Time - first.Time) : span;
            }
        }

        return span;
    }

    private double ProbeTime(out PacketSpace space)
    {
        double period = Smoothed + Math.Max(4 * Variation, Millisecond);
        space = HasHandshakeKeys ? PacketSpace.Handshake : PacketSpace.Initial;
        double earliest = double.PositiveInfinity;
        foreach (PacketSpace each in Spaces)
        {
            Packet? last = Waiting(each).Where(packet => packet.IsAckEliciting).MaxBy(packet => packet.Number);
            if (last is null || (each == PacketSpace.Application && !IsConfirmed))
            {
                continue;
            }

            // Not the last that waits, but the last that was sent.
            long sent = Packets.Where(packet => packet.Space == each && packet.IsAckEliciting).Max(packet => packet.Time);
            double time = sent + ((period + (each == PacketSpace.Application ? 25 * Millisecond : 0)) * Math.Pow(2, PtoCount));
            if (time < earliest)
            {
                earliest = time;
                space = each;
            }
        }

        return double.IsFinite(earliest) || IsValidated ? earliest : LastEvent + (period * Math.Pow(2, PtoCount));
    }
}
