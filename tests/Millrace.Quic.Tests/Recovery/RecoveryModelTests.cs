using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Recovery.RecoveryHarness;
using Fate = Millrace.Quic.Tests.Recovery.RecoveryModel.Fate;
using Packet = Millrace.Quic.Tests.Recovery.RecoveryModel.Packet;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>Random histories of a connection, beside the model of RFC 9002's appendix A.</summary>
public class RecoveryModelTests
{
    private const int Steps = 300;

    [Theory]
    [Trait("Rfc", "9002-A")]
    [InlineData(true)]
    [InlineData(false)]
    public void Losses_timeouts_and_bytes_in_flight_are_those_of_the_appendix(bool isClient)
    {
        for (int seed = 1; seed <= 150; seed++)
        {
            new History(seed, isClient).Run(Steps);
        }
    }

    [Theory]
    [Trait("Rfc", "9002-A")]
    [Trait("Duration", "Long")]
    [InlineData(true)]
    [InlineData(false)]
    public void Thousands_of_histories_are_those_of_the_appendix(bool isClient)
    {
        for (int seed = 1000; seed <= 7000; seed++)
        {
            new History(seed, isClient).Run(Steps);
        }
    }

    private sealed class History(int seed, bool isClient)
    {
        private readonly Random _random = new(seed);
        private readonly RecoveryHarness _harness = new(isClient);
        private readonly RecoveryModel _model = new(isClient);
        private readonly bool[] _isDiscarded = new bool[3];
        private readonly long _pace = (long)Math.Pow(10, new Random(seed).Next(4, 9));

        public void Run(int steps)
        {
            for (int step = 0; step < steps; step++)
            {
                _harness.Now += _random.NextInt64(_pace);
                Expire();
                switch (_random.Next(20))
                {
                    case < 9:
                        Send(_random.Next(1, 6));
                        break;
                    case < 17:
                        Ack();
                        break;
                    case 17:
                        _harness.Now += _random.NextInt64(40 * _pace);
                        break;
                    default:
                        Progress(step);
                        break;
                }

                Compare(step);
            }
        }

        private void Send(int count)
        {
            PacketSpace space = Choose();
            for (int i = 0; i < count && !_isDiscarded[(int)space]; i++)
            {
                bool isAckEliciting = _random.Next(5) > 0;
                bool isInFlight = isAckEliciting || _random.Next(3) == 0;
                SentPacketTraits traits = isAckEliciting ? SentPacketTraits.AckEliciting | SentPacketTraits.InFlight
                    : isInFlight ? SentPacketTraits.InFlight : SentPacketTraits.None;
                int size = _random.Next(30, 1201);
                long number = _harness.Send(space, size, traits, frames: [SentFrame.Crypto(space, _model.Packets.Count, 1)]);
                _model.Send(new Packet
                {
                    Space = space,
                    Number = number,
                    Time = _harness.Now,
                    Size = size,
                    IsAckEliciting = isAckEliciting,
                    IsInFlight = isInFlight,
                });
            }
        }

        /// <summary>Acknowledges some that wait, and some that were acknowledged before.</summary>
        private void Ack()
        {
            PacketSpace space = Choose();
            long[] numbers = [.. _model.Packets.Where(packet => packet.Space == space)
                .Where(packet => packet.Fate == Fate.Sent ? _random.Next(3) > 0 : packet.Fate == Fate.Acked && _random.Next(2) == 0)
                .Select(packet => packet.Number)];
            if (numbers.Length == 0 || _isDiscarded[(int)space])
            {
                return;
            }

            long delay = _random.NextInt64(40 * Millisecond);
            Assert.Equal(AckResult.Valid, _harness.AckIn(space, delay, null, numbers));
            _model.Ack(space, numbers, delay, _harness.Now);
        }

        private void Expire()
        {
            for (int i = 0; i < 3 && _harness.Loss.NextTimeout <= _harness.Now; i++)
            {
                _harness.Loss.OnTimeout(_harness.Now);
                PacketSpace? space = _model.Expire(_harness.Now);
                Assert.True(space is null || _harness.Loss.ProbesPending(space.Value) > 0, $"Seed {seed}: no probe in {space}");
            }
        }

        private void Progress(int step)
        {
            if (step < Steps / 3 || _random.Next(8) > 0)
            {
                return;
            }

            if (!_harness.Loss.HasHandshakeKeys)
            {
                _harness.Loss.HasHandshakeKeys = _model.HasHandshakeKeys = true;
                Discard(PacketSpace.Initial);
            }
            else if (!_harness.Loss.IsHandshakeConfirmed)
            {
                _harness.Loss.IsHandshakeConfirmed = _model.IsConfirmed = true;
                Discard(PacketSpace.Handshake);
            }
        }

        private void Discard(PacketSpace space)
        {
            _isDiscarded[(int)space] = true;
            _harness.Loss.DiscardSpace(space, _harness.Now);
            _model.Discard(space, _harness.Now);
        }

        private PacketSpace Choose()
        {
            PacketSpace space;
            do
            {
                space = (PacketSpace)_random.Next(3);
            }
            while (_isDiscarded[(int)space] && space != PacketSpace.Application);
            return space;
        }

        private void Compare(int step)
        {
            string where = $"Seed {seed}, step {step}";
            long[] lost = [.. _model.Packets.Where(packet => packet.Fate == Fate.Lost).Select(Key).Order()];
            long[] acked = [.. _model.Packets.Where(packet => packet.Fate == Fate.Acked).Select(Key).Order()];
            Assert.True(lost.SequenceEqual(_harness.LostKeys.Order()), $"{where}: {string.Join(' ', lost)} are lost");
            Assert.True(acked.SequenceEqual(_harness.AckedKeys.Order()), $"{where}: {string.Join(' ', acked)} are acknowledged");
            Assert.True(_model.BytesInFlight == _harness.Loss.Congestion.BytesInFlight, $"{where}: {_model.BytesInFlight} in flight");
            Assert.True(_model.PtoCount == _harness.Loss.PtoCount, $"{where}: {_model.PtoCount} timeouts");
            AssertNear(_model.Smoothed, _harness.Loss.Rtt.Smoothed, where);
            AssertNear(_model.Timeout(), _harness.Loss.NextTimeout, where);
        }

        private static long Key(Packet packet) => ((long)packet.Space << 32) + packet.Number;

        private static void AssertNear(double expected, long actual, string where)
        {
            bool isNear = double.IsFinite(expected) ? Math.Abs(expected - actual) <= 100_000 : actual == LossDetection.Never;
            Assert.True(isNear, $"{where}: {expected} is expected, {actual} was computed");
        }
    }
}
