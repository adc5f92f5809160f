using Millrace.Quic.Frames;
using Millrace.Quic.Recovery;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

public sealed class CryptoStreamTests : IDisposable
{
    private readonly BlockPool _pool = new(bytesMax: 0);
    private readonly CryptoStream _stream;

    public CryptoStreamTests() => _stream = new CryptoStream(PacketSpace.Handshake, _pool, bufferBytesMax: 8192);

    public void Dispose()
    {
        _stream.Dispose();
        Assert.Equal(0, _pool.LentBlocks);
        _pool.Dispose();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [Trait("Rfc", "9000-19.6")]
    public void Messages_arrive_whole_and_in_order_over_packets_that_are_lost_and_overtake(int seed)
    {
        var random = new Random(seed);
        byte[] messages = new byte[30_000];
        random.NextBytes(messages);
        using var receiver = new CryptoStream(PacketSpace.Handshake, _pool);
        var received = new List<byte>();
        var sent = new SentFrameList();
        var inFlight = new List<(byte[] Packet, SentFrame[] Frames)>();
        int written = 0;
        for (int i = 0; received.Count < messages.Length || !_stream.IsAcknowledged; i++)
        {
            Assert.True(i < 10_000);
            if (random.Next(5) == 0 && written < messages.Length)
            {
                int end = Math.Min(messages.Length, written + random.Next(9_000));
                _stream.Write(messages.AsSpan(written..end));
                written = end;
            }

            if (_stream.HasFrames)
            {
                sent.Clear();
                var writer = new FrameWriter(new byte[random.Next(40, 1200)]);
                _stream.WriteFrames(ref writer, sent);
                inFlight.Add((writer.Written.ToArray(), sent.AsSpan.ToArray()));
            }

            if (inFlight.Count > 0 && random.Next(2) == 0)
            {
                (byte[] packet, SentFrame[] frames) = inFlight[random.Next(inFlight.Count)];
                bool isLost = random.Next(3) == 0;
                foreach (SentFrame frame in frames)
                {
                    Assert.Equal((SentFrameKind.Crypto, PacketSpace.Handshake), (frame.Kind, frame.Space));
                    (isLost ? (Action<SentFrame>)(lost => _stream.OnLost(lost)) : acked => _stream.OnAcked(acked))(frame);
                }

                inFlight.RemoveAll(entry => entry.Frames == frames);
                if (!isLost)
                {
                    Receive(receiver, packet);
                }

                while (receiver.TryRead(out ReadOnlySpan<byte> bytes))
                {
                    received.AddRange(bytes);
                    receiver.Consume(bytes.Length);
                }
            }
        }

        Assert.Equal(messages, received);
    }

    [Fact]
    [Trait("Rfc", "9000-7.5")]
    public void Bytes_further_ahead_than_the_buffer_are_an_error()
    {
        Assert.Null(_stream.Receive(8191, "x"u8));
        Assert.True(_stream.Receive(8192, "x"u8)!.Is(TransportErrorCode.CryptoBufferExceeded));
    }

    [Fact]
    [Trait("Rfc", "9000-7.5")]
    public void What_was_consumed_makes_room()
    {
        Assert.Null(_stream.Receive(0, "abc"u8));
        Assert.True(_stream.TryRead(out ReadOnlySpan<byte> bytes));
        _stream.Consume(bytes.Length);
        Assert.Null(_stream.Receive(8194, "x"u8));
    }

    [Fact]
    [Trait("Rfc", "9001-4.9")]
    public void After_its_keys_are_discarded_it_takes_and_gives_nothing()
    {
        _stream.Write("abc"u8);
        _stream.Dispose();
        _stream.Write("abc"u8);
        Assert.Null(_stream.Receive(1 << 20, "x"u8));
        _stream.OnLost(SentFrame.Crypto(PacketSpace.Handshake, 0, 3));
        Assert.False(_stream.TryRead(out _));
        Assert.False(_stream.HasFrames);
    }

    [Fact]
    public void A_packet_without_room_for_a_byte_gets_no_frame()
    {
        _stream.Write("abc"u8);
        var sent = new SentFrameList();
        var writer = new FrameWriter(new byte[3]);
        _stream.WriteFrames(ref writer, sent);
        Assert.Equal((0, 0), (writer.Length, sent.Count));
    }

    private static void Receive(CryptoStream receiver, byte[] packet)
    {
        var reader = new FrameReader(packet, Quic.Packets.PacketKind.Handshake, isServer: true);
        while (reader.TryRead(out Frame frame, out QuicError? _))
        {
            Assert.Null(receiver.Receive(frame.Offset, frame.Data));
        }
    }
}
