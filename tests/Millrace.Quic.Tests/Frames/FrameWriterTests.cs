using System.Text;
using Millrace.Quic.Frames;
using Millrace.Quic.Packets;
using Millrace.Quic.Recovery;
using Millrace.Tests.Shared;

namespace Millrace.Quic.Tests.Frames;

public class FrameWriterTests
{
    [Fact]
    public void A_frame_without_room_is_not_written_at_all()
    {
        foreach ((string text, FrameSamples.Writing write) in FrameSamples.All)
        {
            int length = FrameSamples.Bytes(write).Length;
            bool mayBeShorter = text.StartsWith("ack", StringComparison.Ordinal) || text.Contains("close");
            for (int room = 0; room < length; room++)
            {
                var writer = new FrameWriter(new byte[room]);
                bool isWritten = write(ref writer);
                Assert.True(isWritten ? mayBeShorter : writer.Length == 0, text);
                if (isWritten)
                {
                    Assert.DoesNotContain("Error", FrameText.Of(writer.Written));
                }
            }

            var exact = new FrameWriter(new byte[length]);
            Assert.True(write(ref exact));
            Assert.Equal(0, exact.Remaining);
        }
    }

    [Fact]
    [Trait("Rfc", "9000-19.3")]
    public void An_ack_has_as_many_ranges_as_there_is_room_for()
    {
        PacketRange[] ranges = [.. Enumerable.Range(0, 100).Select(i => new PacketRange(100_000 - (1000 * i) - 100, 100_000 - (1000 * i)))];
        int written = 0;
        for (int room = 0; room < 500; room++)
        {
            var writer = new FrameWriter(new byte[room]);
            if (!writer.TryWriteAck(ranges, 5, new EcnCounts(1, 2, 3)))
            {
                Assert.Equal((0, 0), (writer.Length, written));
                continue;
            }

            string text = FrameText.Of(writer.Written);
            int count = text.Count(c => c == ',') + 1;
            string expected = string.Join(',', ranges.Take(count).Select(range => $"{range.Smallest}-{range.Largest}"));
            Assert.Equal($"ack {expected} delay 5 ecn 1 2 3", text);
            Assert.True(count >= written && (writer.Remaining < 5 || count == ranges.Length));
            written = count;
        }

        Assert.Equal(ranges.Length, written);
    }

    [Fact]
    public void The_most_data_that_fits_fills_the_room()
    {
        var buffer = new byte[17_000];
        foreach (int room in (int[])[.. Enumerable.Range(0, 200), .. Enumerable.Range(16_350, 100), buffer.Length])
        {
            foreach (long offset in new long[] { 0, 1, 70_000 })
            {
                CheckStream(buffer, room, offset);
                CheckCrypto(buffer, room, offset);
            }
        }
    }

    [Fact]
    public void Data_is_copied_by_the_caller_into_a_begun_frame()
    {
        var writer = new FrameWriter(new byte[100]);
        Assert.True(writer.TryBeginStream(4, 10, 3, fin: true, out Span<byte> data));
        new byte[] { 1, 2, 3 }.CopyTo(data);
        Assert.True(writer.TryBeginCrypto(10, 2, out data));
        new byte[] { 4, 5 }.CopyTo(data);

        Assert.Equal("stream 4 at 10 010203 fin; crypto 10 0405", FrameText.Of(writer.Written));
    }

    [Fact]
    public void What_was_written_can_be_taken_back()
    {
        var writer = new FrameWriter(new byte[100]);
        writer.TryWritePing();
        int length = writer.Length;
        writer.TryWriteMaxData(1_000_000);
        writer.Truncate(length);
        writer.TryWriteDataBlocked(5);

        Assert.Equal("Ping; DataBlocked 5", FrameText.Of(writer.Written));
    }

    [Theory]
    [Trait("Rfc", "9000-10.2.3")]
    [InlineData((int)PacketKind.Initial, "close 12 by 0 ")]
    [InlineData((int)PacketKind.Handshake, "close 12 by 0 ")]
    [InlineData((int)PacketKind.OneRtt, "application close 256 68657265")]
    public void An_error_of_the_application_is_hidden_until_keys_are_safe(int kind, string text)
    {
        var writer = new FrameWriter(new byte[100]);

        Assert.True(writer.TryWriteConnectionClose(QuicError.OfApplication(256, "here"), (PacketKind)kind));
        Assert.Equal(text, FrameText.Of(writer.Written, (PacketKind)kind));
    }

    [Fact]
    [Trait("Rfc", "9000-19.19")]
    public void The_reason_of_a_close_is_cut_between_characters_and_at_255_bytes()
    {
        var error = new QuicError(TransportErrorCode.InternalError, "äöü");
        foreach ((int room, string reason) in new[] { (4, ""), (5, ""), (6, "ä"), (7, "ä"), (8, "äö"), (10, "äöü"), (100, "äöü") })
        {
            var writer = new FrameWriter(new byte[room]);
            Assert.True(writer.TryWriteConnectionClose(error, PacketKind.OneRtt));
            Assert.Equal($"close 1 by 0 {Convert.ToHexStringLower(Encoding.UTF8.GetBytes(reason))}", FrameText.Of(writer.Written));
        }

        Assert.False(new FrameWriter(new byte[3]).TryWriteConnectionClose(error, PacketKind.OneRtt));
        var longer = new FrameWriter(new byte[1000]);
        longer.TryWriteConnectionClose(new QuicError(TransportErrorCode.InternalError, new string('x', 500)), PacketKind.OneRtt);
        Assert.Equal(1 + 1 + 1 + 2 + 255, longer.Length);
    }

    [Fact]
    public void Writing_and_reading_frames_allocate_nothing()
    {
        var buffer = new byte[1200];
        byte[] data = new byte[300];
        PacketRange[] ranges = [new(90, 100), new(70, 80), new(0, 60)];

        Assert.Equal(0, Allocations.OfEach(() =>
        {
            var writer = new FrameWriter(buffer);
            writer.TryWriteAck(ranges, 5, new EcnCounts(1, 2, 3));
            writer.TryWriteStream(4, 1000, data, fin: true);
            writer.TryWriteCrypto(0, data);
            writer.TryWriteMaxData(100);
            writer.TryWritePadding(10);
            var reader = new FrameReader(writer.Written, PacketKind.OneRtt, isServer: true);
            int count = 0;
            while (reader.TryRead(out Frame frame, out _))
            {
                count++;
                foreach (PacketRange range in frame.AckRanges)
                {
                    count += range.Smallest == 70 ? 1 : 0;
                }
            }

            if (count != 6)
            {
                throw new InvalidOperationException();
            }
        }));
    }

    private static void CheckStream(byte[] buffer, int room, long offset)
    {
        var writer = new FrameWriter(buffer.AsSpan(0, room));
        int most = writer.MaximumStreamData(4, offset);
        Assert.False(writer.TryBeginStream(4, offset, Math.Max(most + 1, 0), fin: false, out _));
        if (most >= 0)
        {
            Assert.True(writer.TryBeginStream(4, offset, most, fin: false, out Span<byte> data));
            Assert.Equal(most, data.Length);
            Assert.True(writer.Remaining <= 2);
        }
    }

    private static void CheckCrypto(byte[] buffer, int room, long offset)
    {
        var writer = new FrameWriter(buffer.AsSpan(0, room));
        int most = writer.MaximumCryptoData(offset);
        Assert.False(writer.TryBeginCrypto(offset, Math.Max(most + 1, 0), out _));
        Assert.True(most < 0 || writer.TryBeginCrypto(offset, most, out _));
    }
}
