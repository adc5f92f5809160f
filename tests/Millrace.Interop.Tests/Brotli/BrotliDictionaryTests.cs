using System.Buffers;
using System.IO.Compression;
using Millrace.Interop.Brotli;
using Millrace.Interop.Tests.Zstd;
using Millrace.Tests.Shared;

namespace Millrace.Interop.Tests.Brotli;

public class BrotliDictionaryTests
{
    private static readonly byte[] Before = ZstdBytes.Text(200_000, 1);
    private static readonly byte[] Now = [.. Before[..100_000], .. "A change."u8, .. Before[100_050..]];

    [Fact]
    public void Content_that_resembles_its_dictionary_becomes_a_fraction()
    {
        byte[] coded = Encode(Now, Before);
        Assert.InRange(coded.Length, 1, 200);
        Assert.Equal((OperationStatus.Done, coded.Length), Decode(coded, Before, out byte[] content));
        Assert.Equal(Now, content);
        Assert.Equal(coded, Encode(Now, Before));
    }

    [Fact]
    public void Content_survives_pieces_and_rooms_of_any_size_with_dictionaries_of_any_size()
    {
        var random = new Random(1);
        foreach (int bytes in new[] { 0, 1, 100, 1000, 65_536, 65_537, 300_000 })
        {
            foreach (int dictionaryBytes in new[] { 1, 7, 1000, 300_000 })
            {
                byte[] dictionary = ZstdBytes.Text(dictionaryBytes, 2);
                byte[] content = [.. ZstdBytes.Noise(bytes / 3, bytes), .. ZstdBytes.Text(bytes - (bytes / 3), 2)];
                byte[] coded = Encode(content, dictionary, random.Next(0, 12), random.Next(1, 70_000), random.Next(1, 70_000));
                Assert.Equal(
                    (OperationStatus.Done, coded.Length), Decode(coded, dictionary, out byte[] decoded, random.Next(1, 70_000), random.Next(1, 70_000)));
                Assert.Equal(content, decoded);
            }
        }
    }

    [Fact]
    public void Without_its_dictionary_or_with_another_nothing_like_the_content_comes_out()
    {
        byte[] coded = Encode(Now, Before);
        using var plain = new BrotliStream(new MemoryStream(coded), CompressionMode.Decompress);
        Assert.ThrowsAny<Exception>(() => plain.CopyTo(new MemoryStream()));
        _ = Decode(coded, ZstdBytes.Text(200_000, 2), out byte[] other);
        Assert.NotEqual(Now, other);
    }

    [Fact]
    public void A_cut_stream_needs_more_data_and_what_follows_one_is_left()
    {
        byte[] coded = Encode(Now, Before);
        for (int bytes = 0; bytes < coded.Length; bytes++)
        {
            Assert.Equal(OperationStatus.NeedMoreData, Decode(coded[..bytes], Before, out _).Status);
        }

        Assert.Equal((OperationStatus.Done, coded.Length), Decode([.. coded, .. "<html>"u8], Before, out _));
        Assert.Equal(OperationStatus.InvalidData, Decode([0xff, .. ZstdBytes.Noise(1000, 3)], Before, out _).Status);
    }

    /// <summary>RFC 9842, section 4: 16 MiB, which is 24 bits.</summary>
    [Theory]
    [InlineData(0, 10)]
    [InlineData(1008, 10)]
    [InlineData(1009, 11)]
    [InlineData(8 << 20, 24)]
    [InlineData(64 << 20, 24)]
    public void A_window_reaches_over_the_content_if_clients_can_decode_it(int contentBytes, int bits) =>
        Assert.Equal(bits, BrotliDictionaryEncoder.WindowBitsFor(contentBytes));

    /// <summary>The header of a large window (RFC 9841, section 9.1) of 25 bits.</summary>
    [Fact]
    public void A_window_beyond_that_of_clients_is_not_valid() =>
        Assert.Equal(OperationStatus.InvalidData, Decode([0x11, 25, 0, 0, 0, 0], Before, out _).Status);

    [Fact]
    public void A_disposed_encoder_or_decoder_refuses()
    {
        var encoder = new BrotliDictionaryEncoder(NewerBrotli.Require(), 5, 1, Before);
        encoder.Dispose();
        encoder.Dispose();
        Assert.Throws<ObjectDisposedException>(() => encoder.Compress([1], new byte[100], out _, out _, isLast: true));
        var decoder = new BrotliDictionaryDecoder(NewerBrotli.Require(), Before);
        decoder.Dispose();
        decoder.Dispose();
        Assert.Throws<ObjectDisposedException>(() => decoder.Decompress([1], new byte[100], out _, out _));
    }

    [Fact]
    public void A_library_that_is_missing_or_another_or_has_no_dictionaries_is_not_used()
    {
        Assert.Equal("libbrotli-missing.so.1 is not installed", ProblemOf("libc.so.6", "libbrotli-missing.so.1", "libc.so.6"));
        Assert.Equal("libc.so.6 is not libbrotli", ProblemOf("libc.so.6", "libc.so.6", "libc.so.6"));
        _ = NewerBrotli.Require();
        Assert.Equal(BrotliLibrary.TryLoad(out BrotliLibrary? own), BrotliLibrary.Problem is null);
        Assert.True(own is null || own.Version >= new Version(1, 1, 0));
    }

    private static string? ProblemOf(params string[] names)
    {
        Assert.False(BrotliLibrary.TryLoad(names, out BrotliLibrary? library, out string? problem));
        Assert.Null(library);
        return problem;
    }

    private static byte[] Encode(byte[] content, byte[] dictionary, int quality = 11, int pieceBytes = 64 * 1024, int roomBytes = 64 * 1024)
    {
        using var encoder = new BrotliDictionaryEncoder(NewerBrotli.Require(), quality, content.Length, dictionary);
        return CodedPieces.Encode(encoder.Compress, content, pieceBytes, roomBytes);
    }

    /// <summary>The status at the end of the input or the stream, and how much of the input was taken.</summary>
    private static (OperationStatus Status, int Consumed) Decode(
        byte[] coded, byte[] dictionary, out byte[] content, int pieceBytes = 64 * 1024, int roomBytes = 64 * 1024)
    {
        using var decoder = new BrotliDictionaryDecoder(NewerBrotli.Require(), dictionary);
        var output = new MemoryStream();
        byte[] room = new byte[roomBytes];
        int at = 0;
        while (true)
        {
            int take = Math.Min(pieceBytes, coded.Length - at);
            OperationStatus status = decoder.Decompress(coded.AsSpan(at, take), room, out int consumed, out int written);
            at += consumed;
            output.Write(room, 0, written);
            bool isAtEnd = status == OperationStatus.NeedMoreData && at == coded.Length;
            if (status is OperationStatus.InvalidData or OperationStatus.Done || isAtEnd)
            {
                content = output.ToArray();
                return (status, at);
            }
        }
    }
}
