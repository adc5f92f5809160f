using Millrace.Quic.Frames;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

public sealed class StreamTableTests : IDisposable
{
    private static readonly StreamSettings Settings = new() { BidirectionalStreamsMax = 4, UnidirectionalStreamsMax = 2 };

    private readonly StreamsEnd _server = new(isServer: true, Settings);

    private ConnectionStreams Streams => _server.Streams;

    public void Dispose() => _server.Dispose();

    [Fact]
    [Trait("Rfc", "9000-3.2")]
    public void A_stream_of_the_peer_opens_all_lower_ones_of_its_kind()
    {
        Assert.Null(Streams.OnStream(8, 0, "x"u8, fin: false));
        Assert.Equal("0 Opened, 4 Opened, 8 Opened, Readable", _server.TakeEvents());
        Assert.Null(Streams.OnStream(4, 0, "x"u8, fin: false));
        Assert.Equal("4 Readable", _server.TakeEvents());
    }

    [Theory]
    [InlineData(FrameType.Stream)]
    [InlineData(FrameType.ResetStream)]
    [InlineData(FrameType.StreamDataBlocked)]
    [InlineData(FrameType.MaxStreamData)]
    [InlineData(FrameType.StopSending)]
    [Trait("Rfc", "9000-3.2")]
    internal void Each_frame_about_a_bidirectional_stream_opens_it(FrameType type)
    {
        Assert.Null(Receive(type, 0));
        Assert.NotNull(Streams.Find(0));
    }

    [Theory]
    [InlineData(FrameType.Stream, 1, "of this end, not opened")]
    [InlineData(FrameType.Stream, 3, "of this end, for sending only")]
    [InlineData(FrameType.ResetStream, 1, "of this end, not opened")]
    [InlineData(FrameType.ResetStream, 3, "of this end, for sending only")]
    [InlineData(FrameType.StreamDataBlocked, 3, "of this end, for sending only")]
    [InlineData(FrameType.MaxStreamData, 1, "of this end, not opened")]
    [InlineData(FrameType.MaxStreamData, 2, "of the peer, for receiving only")]
    [InlineData(FrameType.StopSending, 1, "of this end, not opened")]
    [InlineData(FrameType.StopSending, 2, "of the peer, for receiving only")]
    [Trait("Rfc", "9000-19.4")]
    [Trait("Rfc", "9000-19.5")]
    [Trait("Rfc", "9000-19.8")]
    [Trait("Rfc", "9000-19.10")]
    [Trait("Rfc", "9000-19.13")]
    internal void A_frame_about_a_side_that_is_not_there_is_a_stream_state_error(FrameType type, long id, string why)
    {
        QuicError? error = Receive(type, id);
        Assert.True(error?.Is(TransportErrorCode.StreamStateError), why);
        Assert.Equal(type, error!.FrameType);
    }

    [Theory]
    [InlineData(FrameType.Stream, 16)]
    [InlineData(FrameType.Stream, 10)]
    [InlineData(FrameType.ResetStream, 16)]
    [InlineData(FrameType.MaxStreamData, 16)]
    [InlineData(FrameType.StopSending, 16)]
    [InlineData(FrameType.StreamDataBlocked, 10)]
    [Trait("Rfc", "9000-4.6")]
    internal void A_stream_beyond_the_limit_is_an_error(FrameType type, long id) =>
        Assert.True(Receive(type, id)!.Is(TransportErrorCode.StreamLimitError));

    [Fact]
    [Trait("Rfc", "9000-4.6")]
    public void The_limit_of_streams_rises_as_they_close()
    {
        // The peer is at its limit, as half of four is left; before that nothing needs to be sent.
        Serve(0);
        Assert.Equal("", _server.SendText());
        Serve(4);
        Assert.Equal("MAX_STREAMS bidi 6", _server.SendText());
        Assert.Null(Streams.OnStream(20, 0, "x"u8, fin: false));
        Assert.True(Streams.OnStream(24, 0, "x"u8, fin: false)!.Is(TransportErrorCode.StreamLimitError));
    }

    [Fact]
    [Trait("Rfc", "9000-13.3")]
    public void A_lost_limit_of_streams_is_sent_again_unless_a_higher_one_was_sent()
    {
        Serve(0);
        Serve(4);
        Sent first = _server.Send();
        Serve(8);
        Serve(12);
        Sent second = _server.Send();
        Assert.Equal("MAX_STREAMS bidi 8", StreamsEnd.Describe(second.Bytes));
        _server.Lose(first);
        Assert.Equal("", _server.SendText());
        _server.Lose(second);
        Assert.Equal("MAX_STREAMS bidi 8", _server.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-4.6")]
    public void An_end_opens_no_more_streams_than_it_may_and_says_once_that_it_is_blocked()
    {
        using var client = new StreamsEnd(isServer: false, peer: new PeerStreamLimits(1000, 1000, 1000, 1000, 2, 0));
        Assert.Equal(0, client.Open().Id);
        Assert.Equal(4, client.Open().Id);
        Assert.False(client.Streams.TryOpen(isBidirectional: true, out _));
        Assert.False(client.Streams.TryOpen(isBidirectional: true, out _));
        Sent blocked = client.Send();
        Assert.Equal("STREAMS_BLOCKED bidi 2", StreamsEnd.Describe(blocked.Bytes));
        Assert.Equal("", client.SendText());
        client.Lose(blocked);
        Assert.Equal("STREAMS_BLOCKED bidi 2", client.SendText());
        Assert.False(client.Streams.TryOpen(isBidirectional: false, out _));
        Assert.Equal("STREAMS_BLOCKED uni 0", client.SendText());

        client.Streams.OnMaxStreams(isBidirectional: true, 1);
        Assert.False(client.Streams.TakeStreamAvailable());
        client.Streams.OnMaxStreams(isBidirectional: true, 3);
        Assert.True(client.Streams.TakeStreamAvailable());
        Assert.False(client.Streams.TakeStreamAvailable());
        client.Lose(blocked);
        Assert.Equal("", client.SendText());
        Assert.Equal(8, client.Open().Id);
    }

    [Fact]
    [Trait("Rfc", "9000-3.3")]
    public void Frames_about_closed_streams_are_ignored()
    {
        Serve(0);
        foreach (FrameType type in Enum.GetValues<FrameType>())
        {
            Assert.Null(Receive(type, 0));
        }

        Assert.Equal((0, ""), (Streams.Count, _server.TakeEvents()));
    }

    [Fact]
    public void Nothing_is_kept_of_streams_that_have_closed()
    {
        for (long id = 0; id < 40_000; id += 4)
        {
            Serve(id);
            _server.Send();
        }

        Assert.Equal((0, 0, 1), (Streams.Count, _server.Blocks.LentBlocks, _server.Pool.FreeStreams));
    }

    [Fact]
    public void The_end_of_a_connection_gives_back_all_blocks_and_streams()
    {
        var blocks = new BlockPool();
        var pool = new StreamPool(blocks);
        using (var streams = new ConnectionStreams(isServer: true, Settings, pool))
        {
            streams.ApplyPeerLimits(StreamsEnd.NoLimits);
            Assert.True(streams.TryOpen(isBidirectional: true, out QuicStream? stream));
            stream!.Write(new byte[20_000]);
            Assert.Null(streams.OnStream(4, 100, new byte[1000], fin: false));
            Assert.Null(streams.OnStream(2, 0, new byte[1000], fin: true));
            streams.Find(2)!.Consume(1000);
            streams.Find(4)!.StopSending(1);
            Assert.True(blocks.LentBlocks > 4);
        }

        Assert.Equal((0, 4), (blocks.LentBlocks, pool.FreeStreams));
        blocks.Dispose();
        Assert.Equal(0, blocks.FreeBlocks);
    }

    private void Serve(long id)
    {
        Assert.Null(Streams.OnStream(id, 0, "request"u8, fin: true));
        QuicStream stream = Streams.Find(id)!;
        stream.Consume(7);
        stream.Write("response"u8);
        stream.Finish();
        byte[] packet = new byte[StreamsEnd.PacketBytes];
        _server.SendInto(packet);
        foreach (Quic.Recovery.SentFrame frame in _server.LastSent)
        {
            if (frame.Kind == Quic.Recovery.SentFrameKind.Stream)
            {
                Streams.OnAcked(frame);
            }
        }

        Assert.EndsWith($"{id} Opened, Readable, Closed", _server.TakeEvents());
    }

    private QuicError? Receive(FrameType type, long id) => type switch
    {
        FrameType.Stream => Streams.OnStream(id, 0, "x"u8, fin: false),
        FrameType.ResetStream => Streams.OnResetStream(id, 1, 1),
        FrameType.StopSending => Streams.OnStopSending(id, 1),
        FrameType.MaxStreamData => Streams.OnMaxStreamData(id, 1),
        FrameType.StreamDataBlocked => Streams.OnStreamDataBlocked(id),
        _ => null,
    };
}
