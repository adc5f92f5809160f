using Millrace.Quic.Connections;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Connections;

/// <summary>STREAM frames of which one continues the other are reported to their stream as one.</summary>
public sealed class SentFrameResultsTests
{
    private const int Length = 3000;

    [Fact]
    public void Acknowledged_frames_of_a_stream_are_reported_together()
    {
        using QuicPair pair = QuicPair.Connected();
        QuicStream stream = SendUnacknowledged(pair);
        SentFrameResults results = pair.ServerConnection!.Results;

        results.OnAcked(SentFrame.Stream(stream.Id, 0, 1000, isFin: false));
        results.OnAcked(SentFrame.Stream(stream.Id, 1000, 1000, isFin: false));
        Assert.Equal(0, stream.Send.Buffer.Start);
        results.ReportAcked();
        Assert.Equal(2000, stream.Send.Buffer.Start);

        results.OnAcked(SentFrame.Stream(stream.Id, 2000, 500, isFin: false));
        results.OnAcked(SentFrame.Stream(stream.Id, 2500, 500, isFin: true));
        results.ReportAcked();
        Assert.Equal(Length, stream.Send.Buffer.Start);
        Assert.Equal(SendState.DataRecvd, stream.Send.State);
    }

    [Fact]
    public void Acknowledged_frames_that_do_not_follow_each_other_are_reported_one_by_one()
    {
        using QuicPair pair = QuicPair.Connected();
        QuicStream stream = SendUnacknowledged(pair);
        QuicStream other = SendUnacknowledged(pair);
        SentFrameResults results = pair.ServerConnection!.Results;

        results.OnAcked(SentFrame.Stream(stream.Id, 2000, 1000, isFin: true));
        results.OnAcked(SentFrame.Stream(stream.Id, 0, 1000, isFin: false));
        results.OnAcked(SentFrame.Stream(other.Id, 1000, 1000, isFin: false));
        results.OnAcked(SentFrame.Stream(other.Id, 0, 1000, isFin: false));
        results.ReportAcked();
        Assert.Equal(1000, stream.Send.Buffer.Start);
        Assert.Equal(2000, other.Send.Buffer.Start);
        Assert.Equal(SendState.DataSent, stream.Send.State);

        results.OnAcked(SentFrame.Stream(stream.Id, 1000, 1000, isFin: false));
        results.ReportAcked();
        Assert.Equal(SendState.DataRecvd, stream.Send.State);
    }

    [Fact]
    public void What_is_acknowledged_is_known_before_a_loss_is_reported()
    {
        using QuicPair pair = QuicPair.Connected();
        QuicStream stream = SendUnacknowledged(pair);
        SentFrameResults results = pair.ServerConnection!.Results;

        results.OnAcked(SentFrame.Stream(stream.Id, 0, 1000, isFin: false));
        results.OnLost(SentFrame.Stream(stream.Id, 0, 1000, isFin: false));
        Assert.Equal(1000, stream.Send.Buffer.Start);
        Assert.False(stream.Send.Buffer.HasLost);
    }

    /// <summary>A stream of the server's whose bytes and end are sent, and do not arrive.</summary>
    private static QuicStream SendUnacknowledged(QuicPair pair)
    {
        pair.Drops = static (_, _) => true;
        Assert.True(pair.ServerConnection!.Streams.TryOpen(isBidirectional: false, out QuicStream? stream));
        Assert.Equal(Length, stream!.Write(new byte[Length]));
        stream.Finish();
        pair.Pump();
        Assert.Equal(Length, stream.Send.Buffer.SentEnd);
        return stream;
    }
}
