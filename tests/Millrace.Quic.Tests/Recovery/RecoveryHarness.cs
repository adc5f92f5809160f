using Millrace.Quic.Recovery;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>A connection's loss detection with a scripted clock, and what its owners were told.</summary>
internal sealed class RecoveryHarness : ISentFrameOwner, ISentPacketObserver
{
    public const long Millisecond = 1_000_000;
    public const long Second = 1_000_000_000;
    public const int Datagram = 1200;

    private readonly SentFrameList _frames = new();

    public RecoveryHarness(bool isClient = false, RecoveryOptions? options = null)
    {
        Loss = new LossDetection(isClient, options ?? new RecoveryOptions(), this, this);
    }

    public LossDetection Loss { get; }

    public long Now { get; set; } = Second;

    public List<SentFrame> AckedFrames { get; } = [];

    public List<SentFrame> LostFrames { get; } = [];

    public List<long> AckedPackets { get; } = [];

    public List<long> LostPackets { get; } = [];

    /// <summary>Packets of all spaces, by space and number.</summary>
    public List<long> AckedKeys { get; } = [];

    public List<long> LostKeys { get; } = [];

    /// <summary>A server whose handshake is confirmed, with one packet acknowledged after this round-trip time.</summary>
    public static RecoveryHarness Confirmed(long rtt = 100 * Millisecond, RecoveryOptions? options = null)
    {
        var harness = new RecoveryHarness(isClient: false, options);
        harness.Loss.HasHandshakeKeys = true;
        harness.Loss.IsHandshakeConfirmed = true;
        harness.Send();
        harness.Now += rtt;
        harness.Ack(0);
        harness.AckedPackets.Clear();
        harness.Now++;
        return harness;
    }

    public long Send(
        PacketSpace space = PacketSpace.Application, int size = Datagram,
        SentPacketTraits traits = SentPacketTraits.AckEliciting | SentPacketTraits.InFlight, EcnMark ecn = EcnMark.NotEct, byte path = 0,
        params ReadOnlySpan<SentFrame> frames)
    {
        foreach (SentFrame frame in frames)
        {
            _frames.Add(frame);
        }

        long number = Loss[space].NextNumber;
        var packet = new SentPacket { Number = number, TimeSent = Now, Size = size, Traits = traits, Ecn = ecn, Path = path };
        Loss.OnPacketSent(space, packet, _frames);
        return number;
    }

    public void SendMany(int count, PacketSpace space = PacketSpace.Application)
    {
        for (int i = 0; i < count; i++)
        {
            Send(space);
        }
    }

    public AckResult Ack(params ReadOnlySpan<long> numbers) => AckIn(PacketSpace.Application, 0, null, numbers);

    /// <summary>Acknowledges these numbers, which may come in any order.</summary>
    public AckResult AckIn(PacketSpace space, long delay, EcnCounts? counts, params ReadOnlySpan<long> numbers)
    {
        var list = new AckList(numbers);
        return Loss.OnAckReceived(space, list.Largest, ref list, delay, counts, Now);
    }

    /// <summary>Lets time pass until the timer, and has it run.</summary>
    public void Expire()
    {
        Assert.NotEqual(LossDetection.Never, Loss.NextTimeout);
        Now = Math.Max(Now, Loss.NextTimeout);
        Loss.OnTimeout(Now);
    }

    void ISentFrameOwner.OnAcked(in SentFrame frame) => AckedFrames.Add(frame);

    void ISentFrameOwner.OnLost(in SentFrame frame) => LostFrames.Add(frame);

    void ISentPacketObserver.OnPacketAcked(PacketSpace space, in SentPacket packet)
    {
        AckedPackets.Add(packet.Number);
        AckedKeys.Add(((long)space << 32) + packet.Number);
    }

    void ISentPacketObserver.OnPacketLost(PacketSpace space, in SentPacket packet)
    {
        LostPackets.Add(packet.Number);
        LostKeys.Add(((long)space << 32) + packet.Number);
    }
}

/// <summary>Ranges of an ACK frame, from numbers.</summary>
internal struct AckList : IAckRanges
{
    private readonly List<PacketRange> _ranges = [];
    private int _next;

    public AckList(params ReadOnlySpan<long> numbers)
    {
        long[] sorted = numbers.ToArray();
        Array.Sort(sorted);
        for (int i = sorted.Length - 1; i >= 0; i--)
        {
            if (_ranges.Count > 0 && _ranges[^1].Smallest == sorted[i] + 1)
            {
                _ranges[^1] = _ranges[^1] with { Smallest = sorted[i] };
            }
            else
            {
                _ranges.Add(new PacketRange(sorted[i], sorted[i]));
            }
        }
    }

    public AckList(params PacketRange[] ranges) => _ranges.AddRange(ranges);

    public readonly long Largest => _ranges[0].Largest;

    public bool TryRead(out PacketRange range)
    {
        range = _next < _ranges.Count ? _ranges[_next] : default;
        return _next++ < _ranges.Count;
    }
}
