using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using static Millrace.Quic.Tests.Recovery.RecoveryHarness;

namespace Millrace.Quic.Tests.Recovery;

/// <summary>From one end's received packets through an ACK frame to the other end's sent packets.</summary>
public class AckFrameTests
{
    [Fact]
    [Trait("Rfc", "9000-13.2.3")]
    public void An_ack_frame_reports_what_was_received_and_nothing_else()
    {
        RecoveryHarness sender = Confirmed(80 * Millisecond);
        var receiver = new ReceivedPackets(PacketSpace.Application);
        sender.SendMany(60);
        long[] arrived = [.. Enumerable.Range(1, 60).Where(number => number % 5 != 0).Select(number => (long)number)];
        foreach (long number in arrived)
        {
            receiver.OnReceived(number, isAckEliciting: true, EcnMark.NotEct, sender.Now);
        }

        sender.Now += 20 * Millisecond;
        Span<byte> bytes = stackalloc byte[200];
        var writer = new FrameWriter(bytes);
        Assert.True(writer.TryWriteAck(receiver.Ranges, receiver.AckDelay(sender.Now) / 8000, receiver.Ecn));

        var reader = new FrameReader(bytes[..writer.Length], PacketKind.OneRtt, isServer: true);
        Assert.True(reader.TryRead(out Frame frame, out QuicError? error));
        Assert.Null(error);
        AckRanges.Enumerator ranges = frame.AckRanges.GetEnumerator();
        AckResult result = sender.Loss.OnAckReceived(
            PacketSpace.Application, frame.AckRanges.LargestAcknowledged, ref ranges, 20 * Millisecond, frame.Ecn, sender.Now);

        Assert.Equal(AckResult.Valid, result);
        Assert.Equal(arrived, sender.AckedPackets.Order());
        Assert.Equal([5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55], sender.LostPackets);
        Assert.Equal(Datagram, sender.Loss.Congestion.BytesInFlight);
    }
}
