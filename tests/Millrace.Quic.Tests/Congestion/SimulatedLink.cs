using Millrace.Quic.Congestion;
using Millrace.Quic.Recovery;
using Millrace.Quic.Tests.Recovery;

namespace Millrace.Quic.Tests.Congestion;

/// <summary>
/// A bottleneck that several connections share, in simulated time: datagrams are serialized at a rate, wait in a buffer that drops or marks
/// what is too much, and arrive after a delay. Each flow is a whole sender (loss detection, controller, pacer) and a receiver.
/// </summary>
internal sealed class SimulatedLink(long bytesPerSecond, long rtt, long buffer, int seed = 1)
{
    public const long Millisecond = 1_000_000;
    public const long Second = 1_000_000_000;
    public const int Datagram = 1200;

    private readonly PriorityQueue<Action, (long Time, long Order)> _events = new();
    private readonly Random _random = new(seed);
    private long _order;
    private long _freeAt;

    public long Now { get; private set; } = Second;

    public List<Flow> Flows { get; } = [];

    /// <summary>The part of datagrams that is lost at random.</summary>
    public double Loss { get; init; }

    /// <summary>The part of datagrams that arrives late, by up to a quarter of the round-trip time.</summary>
    public double Reordering { get; init; }

    /// <summary>Bytes in the buffer from which on datagrams are marked; 0: none are.</summary>
    public long MarkAt { get; init; }

    /// <summary>Nothing arrives from this time on, until the other.</summary>
    public (long From, long To) Outage { get; set; }

    public int Drops { get; private set; }

    public int Marks { get; private set; }

    public Flow Add(CongestionAlgorithm algorithm, long limit = long.MaxValue)
    {
        var flow = new Flow(this, algorithm, limit);
        Flows.Add(flow);
        At(Now, flow.Run);
        return flow;
    }

    public void RunFor(long time)
    {
        long end = Now + time;
        while (_events.TryPeek(out Action? action, out (long Time, long Order) key) && key.Time <= end)
        {
            _events.Dequeue();
            Now = Math.Max(Now, key.Time);
            action();
        }

        Now = end;
    }

    private void At(long time, Action action) => _events.Enqueue(action, (time, _order++));

    /// <summary>Takes a datagram; calls <paramref name="arrive"/> when it arrives, if it does.</summary>
    private void Transmit(EcnMark ecn, Action<EcnMark> arrive)
    {
        long waiting = Math.Max(0, _freeAt - Now) * bytesPerSecond / Second;
        bool isOut = Now >= Outage.From && Now < Outage.To;
        if (waiting + Datagram > buffer || _random.NextDouble() < Loss || isOut)
        {
            Drops++;
            return;
        }

        if (MarkAt > 0 && waiting >= MarkAt && ecn == EcnMark.Ect0)
        {
            Marks++;
            ecn = EcnMark.Ce;
        }

        _freeAt = Math.Max(_freeAt, Now) + (Datagram * Second / bytesPerSecond);
        long late = _random.NextDouble() < Reordering ? _random.NextInt64(rtt / 4) : 0;
        At(_freeAt + (rtt / 2) + late, () => arrive(ecn));
    }

    internal sealed class Flow : ISentFrameOwner
    {
        private readonly SimulatedLink _link;
        private readonly ReceivedPackets _received = new(PacketSpace.Application);
        private readonly SentFrameList _frames = new();
        private readonly Queue<long> _again = new();
        private readonly HashSet<long> _pieces = [];
        private readonly long _limit;
        private long _next;

        public Flow(SimulatedLink link, CongestionAlgorithm algorithm, long limit)
        {
            _link = link;
            _limit = limit;
            var options = new RecoveryOptions { Algorithm = algorithm, SkipSeed = (ulong)link.Flows.Count + 1 };
            Recovery = new LossDetection(isClient: false, options, this) { IsHandshakeConfirmed = true };
        }

        public LossDetection Recovery { get; }

        /// <summary>Pieces of data that have arrived, of one datagram each.</summary>
        public int Delivered => _pieces.Count;

        public int Sent { get; private set; }

        public int Lost { get; private set; }

        public bool IsComplete => Delivered >= _limit;

        private SentPackets Packets => Recovery[PacketSpace.Application];

        void ISentFrameOwner.OnAcked(in SentFrame frame)
        {
        }

        void ISentFrameOwner.OnLost(in SentFrame frame)
        {
            Lost++;
            _again.Enqueue(frame.Offset);
        }

        /// <summary>Sends what may be sent now, and comes again when there is more to do.</summary>
        public void Run()
        {
            long now = _link.Now;
            Recovery.OnTimeout(now);
            while (HasData || Recovery.ProbesPending(PacketSpace.Application) > 0)
            {
                if (Recovery.ProbesPending(PacketSpace.Application) == 0)
                {
                    if (!Recovery.Congestion.CanSend(Datagram))
                    {
                        break;
                    }

                    long time = Recovery.Pacer.NextSendTime(Datagram, now);
                    if (time > now)
                    {
                        _link.At(time, Run);
                        break;
                    }

                    Assert.True(Recovery.Congestion.BytesInFlight + Datagram <= Recovery.Congestion.Window);
                }

                Send(now);
            }

            if (Recovery.NextTimeout != LossDetection.Never)
            {
                _link.At(Recovery.NextTimeout, OnTimer);
            }
        }

        private bool HasData => _again.Count > 0 || _next < _limit;

        private void OnTimer()
        {
            // Timers that are out of date do nothing.
            if (Recovery.NextTimeout <= _link.Now)
            {
                Run();
            }
        }

        private void Send(long now)
        {
            bool isPing = !HasData;
            long piece = _again.TryDequeue(out long again) ? again : isPing ? -1 : _next++;
            if (!isPing)
            {
                _frames.Add(SentFrame.Stream(0, piece, 1, isFin: false));
            }

            EcnMark ecn = Recovery.Ecn.Mark;
            long number = Packets.NextNumber;
            Recovery.OnPacketSent(PacketSpace.Application, new SentPacket
            {
                Number = number,
                TimeSent = now,
                Size = Datagram,
                Traits = SentPacketTraits.AckEliciting | SentPacketTraits.InFlight,
                Ecn = ecn,
            }, _frames);
            Sent++;
            _link.Transmit(ecn, mark => Arrive(number, piece, mark));
        }

        private void Arrive(long number, long piece, EcnMark ecn)
        {
            Assert.False(_received.IsDuplicate(number));
            _received.OnReceived(number, isAckEliciting: true, ecn, _link.Now);
            if (piece >= 0)
            {
                _pieces.Add(piece);
            }

            if (_received.IsAckDue(_link.Now))
            {
                Acknowledge();
            }
            else
            {
                _link.At(_received.AckDeadline, () =>
                {
                    if (_received.IsAckDue(_link.Now))
                    {
                        Acknowledge();
                    }
                });
            }
        }

        private void Acknowledge()
        {
            PacketRange[] ranges = _received.Ranges.ToArray();
            long delay = _received.AckDelay(_link.Now);
            EcnCounts? counts = _received.Ecn.IsZero ? null : _received.Ecn;
            _received.OnAckSent();
            _link.At(_link.Now + (_link.Rtt / 2), () =>
            {
                var list = new AckList(ranges);
                AckResult result = Recovery.OnAckReceived(PacketSpace.Application, list.Largest, ref list, delay, counts, _link.Now);
                Assert.Equal(AckResult.Valid, result);
                Assert.True(Recovery.Congestion.BytesInFlight >= 0);
                Run();
            });
        }
    }

    private long Rtt => rtt;
}
