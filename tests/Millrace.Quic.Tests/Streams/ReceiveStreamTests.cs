using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

/// <summary>The receiving side of streams: here of the server's, from a client whose first bidirectional stream is 0.</summary>
public sealed class ReceiveStreamTests : IDisposable
{
    private const int Window = 1000;

    private readonly StreamsEnd _server = new(
        isServer: true,
        new StreamSettings
        {
            StreamWindowBytes = Window,
            StreamWindowBytesMax = Window,
            ConnectionWindowBytes = 2 * Window,
            ConnectionWindowBytesMax = 2 * Window,
        });

    private ConnectionStreams Streams => _server.Streams;

    public void Dispose() => _server.Dispose();

    [Fact]
    [Trait("Rfc", "9000-3.2")]
    public void The_receiving_side_passes_through_its_states_until_all_is_read()
    {
        Receive(0, 2, "cd", fin: true);
        QuicStream stream = Streams.Find(0)!;
        Assert.Equal(ReceiveState.SizeKnown, stream.Receive.State);
        Receive(0, 0, "ab");
        Assert.Equal(ReceiveState.DataRecvd, stream.Receive.State);
        Assert.Equal("0 Opened, Readable", _server.TakeEvents());
        Assert.Equal("abcd", ReadText(stream));
        Assert.Equal(ReceiveState.DataRead, stream.Receive.State);
        Assert.True(stream.IsReadToEnd);
    }

    [Fact]
    [Trait("Rfc", "9000-19.8")]
    public void An_end_without_bytes_is_reported()
    {
        Receive(0, 0, "ab");
        QuicStream stream = Streams.Find(0)!;
        Assert.Equal("ab", ReadText(stream));
        Assert.False(stream.IsReadToEnd);
        _server.TakeEvents();
        Receive(0, 2, "", fin: true);
        Assert.Equal("0 Readable", _server.TakeEvents());
        Assert.True(stream.IsReadToEnd);
    }

    [Fact]
    [Trait("Rfc", "9000-3.2")]
    public void A_reset_is_reported_and_drops_what_was_not_read()
    {
        Receive(0, 0, "abc");
        QuicStream stream = Streams.Find(0)!;
        Assert.Null(Streams.OnResetStream(0, 77, 500));
        Assert.Equal(ReceiveState.ResetRecvd, stream.Receive.State);
        Assert.False(stream.TryRead(out _));
        Assert.Equal("0 Opened, Readable, Reset", _server.TakeEvents());
        Assert.Equal((ReceiveState.ResetRead, 77), (stream.Receive.State, stream.Receive.ResetCode));
        Assert.Equal(0, _server.Blocks.LentBlocks);
    }

    [Fact]
    [Trait("Rfc", "9000-3.2")]
    public void A_reset_after_all_bytes_arrived_changes_nothing()
    {
        Receive(0, 0, "abc", fin: true);
        QuicStream stream = Streams.Find(0)!;
        Assert.Null(Streams.OnResetStream(0, 77, 3));
        Assert.Equal("abc", ReadText(stream));
        Assert.Equal("0 Opened, Readable", _server.TakeEvents());
    }

    [Theory]
    [InlineData(5, true, 3, 1, true)]
    [InlineData(5, true, 6, 0, true)]
    [InlineData(5, true, 5, 1, false)]
    [InlineData(5, false, 4, 0, true)]
    [Trait("Rfc", "9000-4.5")]
    public void A_final_size_that_changes_or_is_too_low_is_an_error(int end, bool isEnd, long offset, int length, bool fin)
    {
        Receive(0, 0, new string('x', end), isEnd);
        Assert.True(Streams.OnStream(0, offset, new byte[length], fin)!.Is(TransportErrorCode.FinalSizeError));
    }

    [Theory]
    [InlineData(2)]
    [InlineData(4)]
    [Trait("Rfc", "9000-4.5")]
    public void A_reset_with_another_final_size_is_an_error(long finalSize)
    {
        Receive(0, 0, "abc", fin: true);
        Assert.True(Streams.OnResetStream(0, 0, finalSize)!.Is(TransportErrorCode.FinalSizeError));
    }

    [Fact]
    [Trait("Rfc", "9000-4.5")]
    public void A_final_size_is_held_after_a_reset_too()
    {
        Assert.Null(Streams.OnResetStream(0, 0, 10));
        _server.TakeEvents();
        Assert.Null(Streams.OnStream(0, 0, Bytes("abc"), fin: false));
        Assert.True(Streams.OnStream(0, 9, Bytes("xx"), fin: false)!.Is(TransportErrorCode.FinalSizeError));
    }

    [Fact]
    [Trait("Rfc", "9000-4.1")]
    public void A_byte_beyond_a_streams_limit_is_an_error()
    {
        Receive(0, Window - 1, "x");
        Assert.True(Streams.OnStream(0, Window, Bytes("x"), fin: false)!.Is(TransportErrorCode.FlowControlError));
    }

    [Fact]
    [Trait("Rfc", "9000-4.1")]
    public void A_byte_beyond_the_connections_limit_is_an_error()
    {
        Receive(0, Window - 1, "x");
        Receive(4, Window - 1, "x");
        Receive(8, 0, "");
        Assert.True(Streams.OnStream(8, 0, Bytes("x"), fin: false)!.Is(TransportErrorCode.FlowControlError));
    }

    [Fact]
    [Trait("Rfc", "9000-4.5")]
    public void A_resets_final_size_counts_for_flow_control()
    {
        Assert.True(Streams.OnResetStream(0, 0, Window + 1)!.Is(TransportErrorCode.FlowControlError));
        Assert.Null(Streams.OnResetStream(4, 0, Window));
        Assert.Equal(Window, Streams.Flow.Receive.Consumed);
    }

    [Fact]
    [Trait("Rfc", "9000-4.1")]
    public void Bytes_that_arrive_again_count_once()
    {
        for (int i = 0; i < 5; i++)
        {
            Receive(0, 0, new string('x', 600));
        }

        Assert.Equal(600, Streams.Flow.Receive.Received);
    }

    [Fact]
    [Trait("Rfc", "9000-4.2")]
    public void Limits_rise_when_half_of_a_window_was_read()
    {
        Receive(0, 0, new string('x', Window));
        QuicStream stream = Streams.Find(0)!;
        stream.Consume((Window / 2) - 1);
        Assert.Equal("", _server.SendText());
        stream.Consume(1);
        Assert.Equal($"MAX_STREAM_DATA 0 {Window + (Window / 2)}", _server.SendText());
        stream.Consume(Window / 2);
        Assert.Equal($"MAX_DATA {3 * Window}, MAX_STREAM_DATA 0 {2 * Window}", _server.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-13.3")]
    public void A_lost_limit_is_sent_again_unless_a_higher_one_was_sent()
    {
        Receive(0, 0, new string('x', Window));
        QuicStream stream = Streams.Find(0)!;
        stream.Consume(Window / 2);
        Sent first = _server.Send();
        stream.Consume(Window / 2);
        Sent second = _server.Send();
        _server.Lose(first);
        Assert.Equal("", _server.SendText());
        _server.Lose(second);
        Assert.Equal($"MAX_DATA {3 * Window}, MAX_STREAM_DATA 0 {2 * Window}", _server.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-3.2")]
    public void The_limit_of_a_stream_whose_size_is_known_is_not_raised()
    {
        Receive(0, 0, new string('x', Window), fin: true);
        Streams.Find(0)!.Consume(600);
        Assert.Equal("", _server.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-3.5")]
    public void Stopping_drops_what_arrives_and_returns_the_connections_credit()
    {
        Receive(0, 0, new string('x', 400));
        QuicStream stream = Streams.Find(0)!;
        stream.StopSending(5);
        Assert.Equal(400, Streams.Flow.Receive.Consumed);
        Assert.Equal("STOP_SENDING 0 5", _server.SendText());
        Receive(0, 700, "xxx");
        Assert.Equal(703, Streams.Flow.Receive.Consumed);
        Assert.Equal(0, _server.Blocks.LentBlocks);
        Assert.False(stream.TryRead(out _));
        Assert.Equal("0 Opened", _server.TakeEvents());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    [Trait("Rfc", "9000-3.5")]
    public void A_stream_that_was_stopped_ends_with_the_peers_reset_or_its_end(bool isReset)
    {
        Receive(2, 0, "abc");
        Streams.Find(2)!.StopSending(5);
        Assert.Equal("2 Opened", _server.TakeEvents());
        Assert.Null(isReset ? Streams.OnResetStream(2, 5, 9) : Streams.OnStream(2, 8, Bytes("x"), fin: true));
        Assert.Equal(9, Streams.Flow.Receive.Consumed);
        Assert.Equal("2 Closed", _server.TakeEvents());
        Assert.Equal(0, Streams.Count);
    }

    [Fact]
    [Trait("Rfc", "9000-3.5")]
    public void A_stop_is_not_sent_for_a_stream_that_has_arrived_whole()
    {
        Receive(2, 0, "abc", fin: true);
        Streams.Find(2)!.StopSending(5);
        Assert.Equal("", _server.SendText());
        Assert.Equal("2 Opened, Closed", _server.TakeEvents());
    }

    [Fact]
    [Trait("Rfc", "9000-13.3")]
    public void A_lost_stop_is_sent_again_until_the_stream_has_ended()
    {
        Receive(0, 0, "abc");
        Streams.Find(0)!.StopSending(5);
        Sent packet = _server.Send();
        _server.Lose(packet);
        Assert.Equal("STOP_SENDING 0 5", _server.SendText());
        Assert.Null(Streams.OnResetStream(0, 5, 3));
        _server.Lose(packet);
        Assert.Equal("", _server.SendText());
    }

    private void Receive(long id, long offset, string bytes, bool fin = false) =>
        Assert.Null(Streams.OnStream(id, offset, Bytes(bytes), fin));

    private static byte[] Bytes(string text) => System.Text.Encoding.ASCII.GetBytes(text);

    private static string ReadText(QuicStream stream)
    {
        string text = "";
        while (stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            text += System.Text.Encoding.ASCII.GetString(bytes);
            stream.Consume(bytes.Length);
        }

        return text;
    }
}
