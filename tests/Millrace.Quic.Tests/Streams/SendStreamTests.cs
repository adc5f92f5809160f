using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

/// <summary>The sending side of streams: here of a client's.</summary>
public sealed class SendStreamTests : IDisposable
{
    private StreamsEnd _client = new(isServer: false);

    public void Dispose() => _client.Dispose();

    [Fact]
    [Trait("Rfc", "9000-3.1")]
    public void The_sending_side_passes_through_its_states_until_all_is_acknowledged()
    {
        QuicStream stream = _client.Open(isBidirectional: false);
        Assert.Equal(SendState.Ready, stream.Send.State);
        stream.Write("abc"u8);
        Sent first = _client.Send();
        Assert.Equal(SendState.Send, stream.Send.State);
        stream.Finish();
        Sent second = _client.Send();
        Assert.Equal("STREAM 2 3+0 FIN", StreamsEnd.Describe(second.Bytes));
        Assert.Equal(SendState.DataSent, stream.Send.State);
        _client.Acknowledge(second);
        Assert.Equal(SendState.DataSent, stream.Send.State);
        _client.Acknowledge(first);
        Assert.Equal(SendState.DataRecvd, stream.Send.State);
        Assert.Equal("2 Closed", _client.TakeEvents());
        Assert.Equal(0, _client.Streams.Count);
    }

    [Fact]
    [Trait("Rfc", "9000-19.8")]
    public void The_end_goes_with_the_last_bytes()
    {
        QuicStream stream = _client.Open();
        stream.Write("abc"u8);
        stream.Finish();
        Assert.Equal("STREAM 0 0+3 FIN", _client.SendText());
        Assert.Equal(0, stream.Write("d"u8));
        Assert.Equal("", _client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-13.3")]
    public void Lost_bytes_are_sent_again_before_new_ones_and_only_those_that_are_missing()
    {
        QuicStream stream = _client.Open();
        stream.Write(new byte[900]);
        Sent first = _client.Send(304);
        Sent second = _client.Send(304);
        Assert.Equal("STREAM 0 0+300", StreamsEnd.Describe(first.Bytes));
        _client.Acknowledge(second);
        _client.Lose(first);
        Assert.Equal("STREAM 0 0+300, STREAM 0 598+302", _client.SendText());
        _client.Acknowledge(first);
        _client.Lose(first);
        Assert.Equal("", _client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-13.3")]
    public void Referenced_bytes_are_sent_as_they_are_in_memory_again_after_a_loss_and_not_read_after_their_acknowledgment()
    {
        byte[] memory = GC.AllocateArray<byte>(3_000, pinned: true);
        Random.Shared.NextBytes(memory);
        QuicStream stream = _client.Open();
        stream.Write("head"u8);
        Assert.Equal(3_000, stream.WriteReferenced(memory));
        stream.Finish();
        Sent[] first = [_client.Send(), _client.Send(), _client.Send()];
        byte[] bytes = [.. first.SelectMany(static sent => DataOf(sent))];
        Assert.Equal([.. "head"u8, .. memory], bytes);
        _client.Acknowledge(first[0]);
        _client.Acknowledge(first[2]);
        _client.Lose(first[1]);
        Sent again = _client.Send();
        Assert.Equal(DataOf(first[1]), DataOf(again));
        Assert.True(stream.Send.Buffer.HasReferenced);
        _client.Acknowledge(again);
        Assert.False(stream.Send.Buffer.HasReferenced);
        Assert.Equal(SendState.DataRecvd, stream.Send.State);
    }

    [Fact]
    public void Referenced_bytes_are_not_read_after_the_end_of_their_stream_or_connection()
    {
        byte[] memory = GC.AllocateArray<byte>(3_000, pinned: true);
        QuicStream aborted = _client.Open();
        aborted.WriteReferenced(memory);
        Sent sent = _client.Send();
        aborted.Abort(1);
        Assert.False(aborted.Send.Buffer.HasReferenced);
        _client.Lose(sent);
        Assert.Equal($"RESET_STREAM 0 1 {DataOf(sent).Length}", _client.SendText());
        QuicStream open = _client.Open();
        open.WriteReferenced(memory);
        _client.Streams.Dispose();
        Assert.False(open.Send.Buffer.HasReferenced);
    }

    [Fact]
    public void Referenced_bytes_are_limited_by_what_a_writer_may_be_ahead_and_take_none_of_the_budget()
    {
        Restart(StreamsEnd.NoLimits, new StreamSettings { SendBufferBytesMax = BlockPool.BlockBytes, UnsentBytesMax = 50_000 });
        byte[] memory = GC.AllocateArray<byte>(60_000, pinned: true);
        QuicStream stream = _client.Open();
        Assert.Equal(50_000, stream.WriteReferenced(memory));
        Assert.True(stream.Send.IsRoomWanted);
        Assert.Equal(0, _client.Blocks.LentBlocks);
        while (_client.TakeEvents().Length == 0)
        {
            Assert.NotEqual("", _client.SendText());
        }

        Assert.Equal(10_000, stream.WriteReferenced(memory.AsSpan(50_000)));
        Assert.Equal(0, _client.Blocks.LentBlocks);
    }

    [Fact]
    public void A_writer_of_referenced_bytes_goes_on_while_others_use_up_the_budget_and_nothing_is_acknowledged()
    {
        const int Budget = 16 * BlockPool.BlockBytes;
        Restart(StreamsEnd.NoLimits, new StreamSettings { SendBufferBytesMax = Budget, UnsentBytesMax = Budget });
        Assert.Equal(Budget, _client.Open().Write(new byte[Budget]));
        QuicStream two = _client.Open();
        two.SetPriority(0, isIncremental: false);
        two.Write("head"u8);
        byte[] memory = GC.AllocateArray<byte>(2 * Budget, pinned: true);
        Assert.Equal(Budget - 4, two.WriteReferenced(memory));
        while (two.Send.Buffer.UnsentBytes > 0)
        {
            _client.Send();
        }

        Assert.Equal("4 Writable", _client.TakeEvents());
    }

    [Fact]
    [Trait("Rfc", "9000-13.3")]
    public void A_lost_end_is_sent_again_unless_another_packet_brought_it()
    {
        QuicStream stream = _client.Open();
        stream.Write("abc"u8);
        _client.Send();
        stream.Finish();
        Sent first = _client.Send();
        _client.Lose(first);
        Sent second = _client.Send();
        Assert.Equal("STREAM 0 3+0 FIN", StreamsEnd.Describe(second.Bytes));
        _client.Acknowledge(second);
        _client.Lose(first);
        Assert.Equal("", _client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-3.1")]
    public void A_reset_drops_the_bytes_and_names_what_was_sent_as_the_final_size()
    {
        QuicStream stream = _client.Open(isBidirectional: false);
        stream.Write(new byte[5000]);
        Sent data = _client.Send();
        long sent = stream.Send.Buffer.SentEnd;
        stream.Abort(9);
        Assert.Equal(0, _client.Blocks.LentBlocks);
        _client.Lose(data);
        Sent reset = _client.Send();
        Assert.Equal($"RESET_STREAM 2 9 {sent}", StreamsEnd.Describe(reset.Bytes));
        Assert.Equal(SendState.ResetSent, stream.Send.State);
        Assert.Equal(0, stream.Write("x"u8));
        stream.Finish();
        stream.Abort(10);
        Assert.Equal("", _client.SendText());
        _client.Lose(reset);
        reset = _client.Send();
        Assert.Equal($"RESET_STREAM 2 9 {sent}", StreamsEnd.Describe(reset.Bytes));
        _client.Acknowledge(data);
        _client.Acknowledge(reset);
        Assert.Equal("2 Closed", _client.TakeEvents());
        _client.Lose(reset);
        Assert.Equal("", _client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-3.5")]
    public void A_stop_of_the_peer_is_answered_with_a_reset_of_the_same_code()
    {
        QuicStream stream = _client.Open();
        stream.Write("abc"u8);
        _client.Send();
        Assert.Null(_client.Streams.OnStopSending(0, 33));
        Assert.Equal("0 StopSending", _client.TakeEvents());
        Assert.Equal(33, stream.Send.StopSendingCode);
        Assert.Equal("RESET_STREAM 0 33 3", _client.SendText());
        Assert.Null(_client.Streams.OnStopSending(0, 34));
        Assert.Equal(("", ""), (_client.TakeEvents(), _client.SendText()));
    }

    [Fact]
    [Trait("Rfc", "9000-3.5")]
    public void A_stop_after_all_was_acknowledged_changes_nothing()
    {
        QuicStream stream = _client.Open();
        stream.Write("abc"u8);
        stream.Finish();
        _client.Acknowledge(_client.Send());
        Assert.Null(_client.Streams.OnStopSending(0, 33));
        Assert.Equal(("", ""), (_client.TakeEvents(), _client.SendText()));
    }

    [Fact]
    [Trait("Rfc", "9000-4.1")]
    public void A_stream_sends_no_more_than_the_peers_limit_for_it_and_says_once_that_it_is_blocked()
    {
        Restart(new PeerStreamLimits(1 << 20, 100, 100, 100, 10, 10));
        QuicStream stream = _client.Open();
        stream.Write(new byte[300]);
        Sent packet = _client.Send();
        Assert.Equal("STREAM 0 0+100", StreamsEnd.Describe(packet.Bytes));
        Sent blocked = _client.Send();
        Assert.Equal("STREAM_DATA_BLOCKED 0 100", StreamsEnd.Describe(blocked.Bytes));
        stream.Write(new byte[10]);
        Assert.Equal("", _client.SendText());
        _client.Lose(blocked);
        Assert.Equal("STREAM_DATA_BLOCKED 0 100", _client.SendText());

        Assert.Null(_client.Streams.OnMaxStreamData(0, 50));
        Assert.Equal("", _client.SendText());
        Assert.Null(_client.Streams.OnMaxStreamData(0, 250));
        _client.Lose(blocked);
        Assert.Equal("STREAM 0 100+150", _client.SendText());
        Assert.Equal("STREAM_DATA_BLOCKED 0 250", _client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-4.1")]
    public void All_streams_together_send_no_more_than_the_connections_limit()
    {
        Restart(new PeerStreamLimits(150, 100, 100, 100, 10, 10));
        QuicStream one = _client.Open();
        QuicStream two = _client.Open();
        one.Write(new byte[100]);
        two.Write(new byte[80]);
        Sent packet = _client.Send();
        Assert.Equal("STREAM 0 0+100, STREAM 4 0+50", StreamsEnd.Describe(packet.Bytes));
        Assert.Equal("DATA_BLOCKED 150", _client.SendText());
        Assert.False(_client.Streams.HasFrames);

        // Bytes that are sent again take no credit.
        _client.Lose(packet);
        Assert.Equal("STREAM 0 0+100, STREAM 4 0+50", _client.SendText());
        Assert.False(_client.Streams.HasFrames);
        _client.Streams.OnMaxData(1000);
        Assert.Equal("STREAM 4 50+30", _client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-4.1")]
    public void An_end_alone_needs_no_credit()
    {
        Restart(new PeerStreamLimits(3, 3, 3, 3, 10, 10));
        QuicStream stream = _client.Open();
        stream.Write("abc"u8);
        Assert.Equal("STREAM 0 0+3", _client.SendText());
        stream.Finish();
        Assert.Equal("STREAM 0 3+0 FIN", _client.SendText());
        _client.Open().Finish();
        Assert.Equal("STREAM 4 0+0 FIN", _client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-4.1")]
    public void Limits_that_hold_bytes_back_can_be_reported_again()
    {
        Restart(new PeerStreamLimits(150, 100, 100, 100, 10, 10));
        _client.Open().Write(new byte[300]);
        _client.Open().Write(new byte[300]);
        _client.Send();
        _client.Send();
        Assert.Equal("", _client.SendText());
        _client.Streams.RepeatBlocked();
        Assert.Equal("DATA_BLOCKED 150, STREAM_DATA_BLOCKED 0 100", _client.SendText());
    }

    [Fact]
    public void Control_frames_that_a_packet_has_no_room_for_go_into_the_next()
    {
        for (int i = 0; i < 3; i++)
        {
            _client.Open().Abort(1);
        }

        Assert.Equal("RESET_STREAM 0 1 0, RESET_STREAM 4 1 0", _client.SendText(room: 9));
        Assert.Equal("RESET_STREAM 8 1 0", _client.SendText());
    }

    [Fact]
    public void A_writer_is_held_back_by_what_is_unsent_and_told_when_half_of_it_was_sent()
    {
        QuicStream stream = _client.Open();
        Assert.Equal(64 * 1024, stream.Write(new byte[100_000]));
        Assert.Equal(0, stream.Room);
        int packets = 0;
        string events = "";
        while (events == "" && packets++ < 100)
        {
            _client.Send();
            events = _client.TakeEvents();
        }

        Assert.Equal("0 Writable", events);
        Assert.InRange(stream.Room, 32 * 1024, 36 * 1024);
    }

    [Fact]
    public void A_stream_without_credit_takes_a_block_and_the_writer_goes_on_when_credit_comes()
    {
        Restart(new PeerStreamLimits(1 << 20, 0, 0, 0, 10, 10));
        QuicStream stream = _client.Open();
        Assert.Equal(BlockPool.BlockBytes, stream.Write(new byte[100_000]));
        Assert.Equal("STREAM_DATA_BLOCKED 0 0", _client.SendText());
        Assert.Equal("", _client.TakeEvents());
        Assert.Null(_client.Streams.OnMaxStreamData(0, 50_000));
        Assert.Equal("0 Writable", _client.TakeEvents());
        Assert.Equal(50_000 - BlockPool.BlockBytes, stream.Room);
    }

    [Fact]
    public void Writers_that_the_budget_holds_back_go_on_when_an_eighth_of_it_is_free()
    {
        const int Budget = 16 * BlockPool.BlockBytes;
        Restart(StreamsEnd.NoLimits, new StreamSettings { SendBufferBytesMax = Budget, UnsentBytesMax = Budget });
        QuicStream one = _client.Open();
        Assert.Equal(Budget, one.Write(new byte[Budget]));
        QuicStream two = _client.Open();
        Assert.Equal(BlockPool.BlockBytes, two.Write(new byte[2 * BlockPool.BlockBytes]));
        var sent = new Queue<Sent>();
        while (_client.Streams.HasFrames)
        {
            sent.Enqueue(_client.Send());
        }

        Assert.Equal("", _client.TakeEvents());
        while (_client.Blocks.LentBlocks > 13)
        {
            Assert.Equal("", _client.TakeEvents());
            _client.Acknowledge(sent.Dequeue());
        }

        Assert.Equal("4 Writable", _client.TakeEvents());
    }

    [Fact]
    public void A_writer_whose_own_bytes_are_acknowledged_goes_on_while_others_use_up_the_budget()
    {
        const int Budget = 16 * BlockPool.BlockBytes;
        Restart(StreamsEnd.NoLimits, new StreamSettings { SendBufferBytesMax = Budget, UnsentBytesMax = Budget });
        Assert.Equal(Budget, _client.Open().Write(new byte[Budget]));
        QuicStream two = _client.Open();
        two.SetPriority(0, isIncremental: false);
        Assert.Equal(BlockPool.BlockBytes, two.Write(new byte[2 * BlockPool.BlockBytes]));
        while (two.Send.Buffer.UnsentBytes > 0)
        {
            Assert.Equal("", _client.TakeEvents());
            Sent packet = _client.Send();
            packet = packet with { Frames = [.. packet.Frames.Where(frame => frame.StreamId == two.Id)] };
            _client.Acknowledge(packet);
        }

        Assert.Equal("4 Writable", _client.TakeEvents());
    }

    [Fact]
    public void Bytes_can_be_written_in_place()
    {
        QuicStream stream = _client.Open();
        Span<byte> room = stream.GetSpan();
        Assert.Equal(BlockPool.BlockBytes, room.Length);
        "abc"u8.CopyTo(room);
        stream.Advance(3);
        Sent packet = _client.Send();
        Assert.Equal("STREAM 0 0+3", StreamsEnd.Describe(packet.Bytes));
        Assert.True(packet.Bytes.AsSpan().EndsWith("abc"u8));
    }

    private static byte[] DataOf(Sent sent)
    {
        var reader = new FrameReader(sent.Bytes, PacketKind.OneRtt, isServer: false);
        Assert.True(reader.TryRead(out Frame frame, out QuicError? _));
        return frame.Data.ToArray();
    }

    private void Restart(PeerStreamLimits peer, StreamSettings? settings = null)
    {
        _client.Dispose();
        _client = new StreamsEnd(isServer: false, settings, peer);
    }
}
