using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

/// <summary>Which stream sends next: here of a server with responses on streams 0, 4, 8 and so on.</summary>
public sealed class StreamSchedulerTests : IDisposable
{
    private const int PacketBytes = 1025;

    /// <summary>Bytes of the first frame of a stream that fills a packet, and of the next ones, whose offset takes two bytes.</summary>
    private const int FirstFrame = PacketBytes - 4;
    private const int NextFrame = PacketBytes - 6;

    private const int Body = FirstFrame + (2 * NextFrame);

    private readonly StreamsEnd _server = new(isServer: true, peer: new PeerStreamLimits(1 << 20, 1 << 20, 1 << 20, 1 << 20, 10, 10));

    public void Dispose() => _server.Dispose();

    [Fact]
    [Trait("Rfc", "9218-10")]
    public void Streams_of_one_urgency_are_sent_whole_in_the_order_of_their_ids()
    {
        Respond(8, 3, isIncremental: false);
        Respond(0, 3, isIncremental: false);
        Respond(4, 3, isIncremental: false);
        Assert.Equal("0 0 0 4 4 4 8 8 8", Order());
    }

    [Fact]
    [Trait("Rfc", "9218-10")]
    public void A_more_urgent_stream_is_sent_first()
    {
        Respond(0, 7, isIncremental: false);
        Respond(4, 3, isIncremental: true);
        Respond(8, 0, isIncremental: false);
        Assert.Equal("8 8 8 4 4 4 0 0 0", Order());
    }

    [Fact]
    [Trait("Rfc", "9218-10")]
    public void Incremental_streams_share_frame_by_frame()
    {
        Respond(0, 3, isIncremental: true);
        Respond(4, 3, isIncremental: true);
        Respond(8, 3, isIncremental: true);
        Assert.Equal("0 4 8 0 4 8 0 4 8", Order());
    }

    [Fact]
    public void Frames_of_incremental_streams_and_of_the_others_alternate()
    {
        Respond(0, 3, isIncremental: true);
        Respond(4, 3, isIncremental: false);
        Respond(8, 3, isIncremental: true);
        Assert.Equal("4 0 4 8 4 0 8 0 8", Order());
    }

    [Fact]
    [Trait("Rfc", "9218-7")]
    public void A_priority_can_change_while_a_stream_is_sent()
    {
        Respond(0, 3, isIncremental: false);
        Respond(4, 3, isIncremental: false);
        Assert.Equal("0", Order(packets: 1));
        _server.Streams.Find(0)!.SetPriority(5, false);
        Assert.Equal("4", Order(packets: 1));
        _server.Streams.Find(4)!.SetPriority(99, true);
        Assert.Equal("0 0 4 4", Order());
    }

    [Fact]
    public void A_stream_without_credit_does_not_hold_up_others()
    {
        _server.Streams.ApplyPeerLimits(new PeerStreamLimits(1 << 20, FirstFrame + NextFrame, 0, 0, 0, 0));
        Respond(0, 0, isIncremental: false);
        Respond(4, 3, isIncremental: false);
        Assert.Equal("0 0 4 4 4", Order());
        Assert.Null(_server.Streams.OnMaxStreamData(0, 10_000));
        Assert.Equal("0", Order());
    }

    [Fact]
    public void Streams_that_wait_for_the_connections_credit_go_on_by_priority()
    {
        _server.Streams.ApplyPeerLimits(new PeerStreamLimits(FirstFrame, 1 << 20, 0, 0, 0, 0));
        Respond(0, 5, isIncremental: false);
        Assert.Equal("0", Order());
        Respond(4, 3, isIncremental: false);
        Assert.Equal("", Order());
        _server.Streams.Find(0)!.SetPriority(1, false);
        _server.Streams.OnMaxData(1 << 20);
        Assert.Equal("0 0 4 4 4", Order());
    }

    private void Respond(long id, int urgency, bool isIncremental)
    {
        Assert.Null(_server.Streams.OnStream(id, 0, default, fin: true));
        QuicStream stream = _server.Streams.Find(id)!;
        stream.SetPriority(urgency, isIncremental);
        Assert.Equal(Body, stream.Write(new byte[Body]));
        stream.Finish();
    }

    /// <summary>The streams that send, by packets that one frame fills.</summary>
    private string Order(int packets = int.MaxValue)
    {
        var order = new List<long>();
        for (int i = 0; i < packets && _server.Streams.HasFrames; i++)
        {
            Sent packet = _server.Send(PacketBytes);
            order.AddRange(packet.Frames.Where(frame => frame.Kind == Quic.Recovery.SentFrameKind.Stream).Select(frame => frame.StreamId));
        }

        return string.Join(' ', order);
    }
}
