using System.Buffers;
using Millrace.Interop.Zstd;
using Millrace.Tests.Shared;

namespace Millrace.Interop.Tests.Zstd;

public class ZstdCodecTests
{
    [Fact]
    public void The_library_is_loaded_once_and_has_no_problem()
    {
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? first));
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? second));
        Assert.Same(first, second);
        Assert.True(first.Version >= 10400);
        Assert.Null(ZstdLibrary.Problem);
    }

    [Fact]
    public void A_library_that_is_missing_is_named()
    {
        Assert.False(ZstdLibrary.TryLoad(["libzstd-missing.so.1"], out ZstdLibrary? library, out string? problem));
        Assert.Null(library);
        Assert.Equal("libzstd-missing.so.1 is not installed", problem);
    }

    [Fact]
    public void A_library_that_is_another_is_not_used()
    {
        Assert.False(ZstdLibrary.TryLoad(["libc.so.6"], out _, out string? problem));
        Assert.Equal("libc.so.6 is older than 1.4.0", problem);
    }

    [Fact]
    public void Content_survives_pieces_and_rooms_of_any_size()
    {
        var random = new Random(1);
        foreach (int bytes in new[] { 0, 1, 100, 1000, 65536, 65537, 300_000 })
        {
            byte[] content = random.Next(2) == 0 ? ZstdBytes.Text(bytes, bytes) : ZstdBytes.Noise(bytes, bytes);
            for (int i = 0; i < 6; i++)
            {
                byte[] coded = ZstdBytes.Encode(
                    content, level: random.Next(1, 20), pieceBytes: random.Next(1, 70_000), roomBytes: random.Next(1, 70_000));
                (OperationStatus status, byte[] decoded) = ZstdBytes.Decode(
                    coded, pieceBytes: random.Next(1, 70_000), roomBytes: random.Next(1, 70_000));
                Assert.Equal(OperationStatus.Done, status);
                Assert.Equal(content, decoded);
            }
        }
    }

    [Fact]
    public void The_same_content_gives_the_same_bytes()
    {
        byte[] content = ZstdBytes.Text(200_000, 7);
        Assert.Equal(ZstdBytes.Encode(content, level: 19), ZstdBytes.Encode(content, level: 19));
    }

    [Fact]
    public void A_cut_stream_needs_more_data()
    {
        byte[] coded = ZstdBytes.Encode(ZstdBytes.Text(5000, 2));
        for (int bytes = 0; bytes < coded.Length; bytes++)
        {
            Assert.Equal(OperationStatus.NeedMoreData, ZstdBytes.Decode(coded[..bytes]).Status);
        }
    }

    [Fact]
    public void Garbage_and_garbage_after_a_frame_are_not_valid()
    {
        byte[] coded = ZstdBytes.Encode(ZstdBytes.Text(5000, 2));
        Assert.Equal(OperationStatus.InvalidData, ZstdBytes.Decode(ZstdBytes.Noise(1000, 3)).Status);
        Assert.Equal(OperationStatus.InvalidData, ZstdBytes.Decode([.. coded, .. "<html>"u8]).Status);
    }

    [Fact]
    public void Frames_one_after_another_are_one_content()
    {
        byte[] first = ZstdBytes.Text(50_000, 4);
        byte[] second = ZstdBytes.Text(60_000, 5);
        (OperationStatus status, byte[] content) = ZstdBytes.Decode([.. ZstdBytes.Encode(first), .. ZstdBytes.Encode(second)]);
        Assert.Equal(OperationStatus.Done, status);
        Assert.Equal([.. first, .. second], content);
    }

    /// <summary>A window of 16 MiB (RFC 8878, section 3.1.1.1.2), which browsers refuse (RFC 9659), and one raw block of "Hello".</summary>
    [Fact]
    public void A_window_beyond_that_of_clients_is_not_valid()
    {
        byte[] frame = [0x28, 0xB5, 0x2F, 0xFD, 0x00, 14 << 3, 0x29, 0x00, 0x00, .. "Hello"u8];
        Assert.Equal(OperationStatus.InvalidData, ZstdBytes.Decode(frame).Status);

        frame[5] = 13 << 3;
        (OperationStatus status, byte[] content) = ZstdBytes.Decode(frame);
        Assert.Equal(OperationStatus.Done, status);
        Assert.Equal("Hello"u8, content);
    }

    [Fact]
    public void A_stream_reads_the_content_and_refuses_what_is_cut_or_garbage()
    {
        byte[] content = ZstdBytes.Text(300_000, 6);
        byte[] coded = ZstdBytes.Encode(content);
        Assert.Equal(content, Read(coded));
        Assert.Throws<InvalidDataException>(() => Read([]));
        Assert.Throws<InvalidDataException>(() => Read(coded[..^1]));
        Assert.Throws<InvalidDataException>(() => Read(ZstdBytes.Noise(1000, 3)));

        byte[] dictionary = ZstdBytes.Noise(10_000, 8);
        Assert.Equal(dictionary, Read(ZstdBytes.Encode(dictionary, dictionary: dictionary), dictionary));
    }

    [Fact]
    public void An_encoder_holds_to_the_stated_size()
    {
        using var encoder = new ZstdEncoder(ZstdBytes.Library, 3, contentBytes: 10);
        encoder.Compress(new byte[8], new byte[1000], out _, out _, isLast: false);
        Assert.Throws<InvalidOperationException>(() => encoder.Compress(new byte[1], new byte[1000], out _, out _, isLast: true));
    }

    [Fact]
    public void A_disposed_encoder_or_decoder_refuses()
    {
        var encoder = new ZstdEncoder(ZstdBytes.Library, 3, contentBytes: 1);
        encoder.Dispose();
        encoder.Dispose();
        Assert.Throws<ObjectDisposedException>(() => encoder.Compress([1], new byte[100], out _, out _, isLast: true));
        var decoder = new ZstdDecoder(ZstdBytes.Library);
        decoder.Dispose();
        decoder.Dispose();
        Assert.Throws<ObjectDisposedException>(() => decoder.Decompress([1], new byte[100], out _, out _));
    }

    private static byte[] Read(byte[] coded, ReadOnlyMemory<byte> dictionary = default)
    {
        using var stream = new ZstdReadStream(ZstdBytes.Library, new MemoryStream(coded), dictionary);
        var content = new MemoryStream();
        stream.CopyTo(content);
        return content.ToArray();
    }
}
