using Millrace.Quic.Recovery;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>Nothing here allocates for each packet.</summary>
public class RecoveryAllocationTests
{
    [Fact]
    public void Sending_losing_and_acknowledging_packets_allocates_nothing()
    {
        var owner = new Owner();
        var loss = new LossDetection(isClient: false, new RecoveryOptions { SkipSeed = 5 }, owner) { IsHandshakeConfirmed = true };
        var frames = new SentFrameList();
        long now = 1;
        AllocatesNothing(() =>
        {
            long first = loss[PacketSpace.Application].NextNumber;
            for (int i = 0; i < 40; i++)
            {
                frames.Add(SentFrame.Stream(4, i, 1, isFin: false));
                frames.Add(SentFrame.Ack(PacketSpace.Application, i));
                SentPacket packet = new()
                {
                    Number = loss[PacketSpace.Application].NextNumber,
                    TimeSent = now,
                    Size = 1200,
                    Traits = SentPacketTraits.AckEliciting | SentPacketTraits.InFlight,
                    Ecn = loss.Ecn.Mark,
                };
                loss.OnPacketSent(PacketSpace.Application, packet, frames);
                now += 1000;
            }

            // The packets of the odd numbers are lost, or late.
            now += 1_000_000;
            for (long number = first; number < loss[PacketSpace.Application].NextNumber; number++)
            {
                if (number % 2 == 0)
                {
                    var range = new OneRange(number);
                    loss.OnAckReceived(PacketSpace.Application, number, ref range, 0, null, now);
                }
            }

            var late = new OneRange(first | 1);
            loss.OnAckReceived(PacketSpace.Application, first | 1, ref late, 0, null, now);
            now = Math.Max(now, loss.NextTimeout == LossDetection.Never ? now : loss.NextTimeout);
            loss.OnTimeout(now);
        });
        Assert.True(owner is { Acked: > 1000, Lost: > 1000 }, $"{owner.Acked} acknowledged, {owner.Lost} lost");
    }

    [Fact]
    public void Receiving_packets_and_acknowledging_them_allocates_nothing()
    {
        var received = new ReceivedPackets(PacketSpace.Application);
        long number = 0;
        long sum = 0;
        AllocatesNothing(() =>
        {
            for (int i = 0; i < 100; i++)
            {
                number += i % 7 == 0 ? 3 : 1;
                if (!received.IsDuplicate(number))
                {
                    received.OnReceived(number, isAckEliciting: true, EcnMark.Ect0, number);
                }
            }

            foreach (PacketRange range in received.Ranges)
            {
                sum += range.Largest;
            }

            received.OnAckSent();
            received.OnAckAcked(number - 50);
        });
        Assert.True(sum > 0);
    }

    private static void AllocatesNothing(Action action) => Assert.Equal(0, Allocations.OfEach(() =>
    {
        for (int i = 0; i < 100; i++)
        {
            action();
        }
    }));

    private struct OneRange(long number) : IAckRanges
    {
        private bool _isRead;

        public bool TryRead(out PacketRange range)
        {
            range = new PacketRange(number, number);
            bool wasRead = _isRead;
            _isRead = true;
            return !wasRead;
        }
    }

    private sealed class Owner : ISentFrameOwner
    {
        public long Acked { get; private set; }

        public long Lost { get; private set; }

        public void OnAcked(in SentFrame frame) => Acked++;

        public void OnLost(in SentFrame frame) => Lost++;
    }
}
