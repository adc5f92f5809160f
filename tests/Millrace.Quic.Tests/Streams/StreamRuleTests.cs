using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

/// <summary>Rules about the whole life of streams, and of what a handshake may send out of order (RFC 9000, sections 2 to 4, 7.5).</summary>
public sealed class StreamRuleTests
{
    private static readonly PeerStreamLimits Limits = new(1 << 20, 100, 100, 100, 10, 10);

    [Fact]
    [Trait("Rfc", "9000-2.1")]
    public void An_id_is_not_used_again_after_its_stream_has_closed()
    {
        using var client = new StreamsEnd(isServer: false);
        List<long> ids = [];
        for (int i = 0; i < 3; i++)
        {
            QuicStream stream = client.Open(isBidirectional: false);
            ids.Add(stream.Id);
            stream.Finish();
            client.Acknowledge(client.Send());
            client.TakeEvents();
            Assert.Equal(0, client.Streams.Count);
        }

        Assert.Equal([2, 6, 10], ids);
    }

    [Fact]
    [Trait("Rfc", "9000-3.3")]
    public void After_a_reset_nothing_is_sent_of_a_stream_but_the_reset()
    {
        using var client = new StreamsEnd(isServer: false, peer: Limits);
        QuicStream stream = client.Open();
        stream.Write(new byte[300]);
        Sent data = client.Send();
        Sent blocked = client.Send();
        Assert.Equal("STREAM_DATA_BLOCKED 0 100", StreamsEnd.Describe(blocked.Bytes));
        stream.Abort(7);
        client.Lose(data);
        client.Lose(blocked);
        client.Streams.RepeatBlocked();
        Assert.Equal("RESET_STREAM 0 7 100", client.SendText());
        client.Lose(blocked);
        Assert.Null(client.Streams.OnMaxStreamData(0, 1000));
        Assert.Equal("", client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-3.3")]
    public void Of_a_stream_that_the_peer_has_whole_nothing_is_sent()
    {
        using var client = new StreamsEnd(isServer: false, peer: Limits);
        QuicStream stream = client.Open();
        stream.Write(new byte[200]);
        Sent data = client.Send();
        Sent blocked = client.Send();
        Assert.Equal("STREAM_DATA_BLOCKED 0 100", StreamsEnd.Describe(blocked.Bytes));
        Assert.Null(client.Streams.OnMaxStreamData(0, 200));
        stream.Finish();
        client.Acknowledge(data);
        client.Acknowledge(client.Send());
        Assert.Equal(SendState.DataRecvd, stream.Send.State);
        client.Lose(data);
        client.Lose(blocked);
        stream.Abort(7);
        Assert.Null(client.Streams.OnStopSending(0, 7));
        Assert.Equal("", client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-3.5")]
    public void A_stop_of_a_stream_that_has_sent_nothing_is_answered_with_a_reset()
    {
        using var client = new StreamsEnd(isServer: false);
        Assert.Equal(SendState.Ready, client.Open().Send.State);
        Assert.Null(client.Streams.OnStopSending(0, 33));
        Assert.Equal("RESET_STREAM 0 33 0", client.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-4.4")]
    public void The_limit_for_sending_holds_and_rises_after_the_peer_has_reset_its_direction()
    {
        using var server = new StreamsEnd(isServer: true, peer: Limits);
        Assert.Null(server.Streams.OnResetStream(0, 1, 10));
        Assert.Equal("0 Opened, Reset", server.TakeEvents());
        QuicStream stream = server.Streams.Find(0)!;
        stream.Write(new byte[300]);
        Assert.Equal("STREAM 0 0+100", server.SendText());
        Assert.Equal("STREAM_DATA_BLOCKED 0 100", server.SendText());
        Assert.Null(server.Streams.OnMaxStreamData(0, 250));
        Assert.Equal("STREAM 0 100+150", server.SendText());
    }

    [Fact]
    [Trait("Rfc", "9000-4.4")]
    public void The_limit_for_receiving_holds_and_rises_after_this_end_has_reset_its_direction()
    {
        using var client = new StreamsEnd(isServer: false, new StreamSettings { StreamWindowBytes = 1000, StreamWindowBytesMax = 1000 });
        QuicStream stream = client.Open();
        stream.Abort(1);
        client.Acknowledge(client.Send());
        Assert.Equal(SendState.ResetRecvd, stream.Send.State);
        Assert.Null(client.Streams.OnStream(0, 0, new byte[1000], fin: false));
        stream.Consume(600);
        Assert.Equal("MAX_STREAM_DATA 0 1600", client.SendText());
        Assert.Null(client.Streams.OnStream(0, 1599, "x"u8, fin: false));
        Assert.True(client.Streams.OnStream(0, 1600, "x"u8, fin: false)!.Is(TransportErrorCode.FlowControlError));
    }

    [Fact]
    [Trait("Rfc", "9000-7.5")]
    public void More_than_4096_bytes_of_a_handshake_are_kept_until_the_first_arrive()
    {
        const int Length = 32;
        const int Count = 8192 / Length;
        using var pool = new BlockPool(bytesMax: 0);
        using var stream = new CryptoStream(PacketSpace.Initial, pool);
        byte[] messages = [.. Enumerable.Range(0, Count * Length).Select(static i => (byte)(i * 7))];
        for (int i = 1; i < 2 * Count; i++)
        {
            // Those of odd numbers first, so that there is a gap before each.
            int index = i < Count ? i | 1 : (i - Count) & ~1;
            if (index > 0)
            {
                Assert.Null(stream.Receive(index * Length, messages.AsSpan(index * Length, Length)));
            }

            Assert.False(stream.TryRead(out _));
        }

        Assert.Null(stream.Receive(0, messages.AsSpan(0, Length)));
        List<byte> read = [];
        while (stream.TryRead(out ReadOnlySpan<byte> bytes))
        {
            read.AddRange(bytes);
            stream.Consume(bytes.Length);
        }

        Assert.Equal(messages, read);
    }
}
