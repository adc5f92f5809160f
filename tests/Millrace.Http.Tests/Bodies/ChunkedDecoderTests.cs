using System.Text;

namespace Millrace.Http.Tests;

/// <summary>RFC 9112 section 7.1.</summary>
public class ChunkedDecoderTests
{
    [Theory]
    [InlineData("0\r\n\r\n", "")]
    [InlineData("5\r\nhello\r\n0\r\n\r\n", "hello")]
    [InlineData("5\r\nhello\r\n1\r\n!\r\n000\r\n\r\n", "hello!")]
    [InlineData("A\r\n0123456789\r\n0\r\n\r\n", "0123456789")]
    [InlineData("00000000000000a\r\n0123456789\r\n0\r\n\r\n", "0123456789")]
    [InlineData("2\r\n\r\n\r\n0\r\n\r\n", "\r\n")]
    [InlineData("1;a\r\nx\r\n0;a=b;c=\"d;\\\" \"\r\n\r\n", "x")]
    [InlineData("1 ; a\t= b ;c\r\nx\r\n0\r\n\r\n", "x")]
    [InlineData("0\r\nA: b\r\nC:\r\n\r\n", "")]
    public void A_body_is_decoded(string text, string data)
    {
        var body = Decode(text, text.Length).Body;
        Assert.Equal((data, text.Length), (body?.Data, body?.Consumed));
    }

    [Theory]
    [InlineData("\r\n", ChunkedRefusal.BadSize)]
    [InlineData("x\r\n", ChunkedRefusal.BadSize)]
    [InlineData("-1\r\n", ChunkedRefusal.BadSize)]
    [InlineData("0x5\r\n", ChunkedRefusal.BadSize)]
    [InlineData(" 5\r\n", ChunkedRefusal.BadSize)]
    [InlineData(";a\r\n", ChunkedRefusal.BadSize)]
    [InlineData("5,5\r\n", ChunkedRefusal.BadSize)]
    [InlineData("8000000000000000\r\n", ChunkedRefusal.SizeTooLarge)]
    [InlineData("FFFFFFFFFFFFFFFF\r\n", ChunkedRefusal.SizeTooLarge)]
    [InlineData("10000000000000005\r\n", ChunkedRefusal.SizeTooLarge)]
    [InlineData("00000000000000005\r\n", ChunkedRefusal.SizeTooLarge)]
    [InlineData("5\nhello\r\n", ChunkedRefusal.BareLf)]
    [InlineData("5;a\nhello\r\n", ChunkedRefusal.BareLf)]
    [InlineData("5\rhello\r\n", ChunkedRefusal.BareCr)]
    [InlineData("5 \r\nhello\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5 5\r\nhello\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;=b\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;a=\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;a \r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;a=b \r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;a=b=c\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;a=\"b\"c\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;a=\"b\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;a=\"b\0\"\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;a\x80\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5;;a\r\n", ChunkedRefusal.BadExtension)]
    [InlineData("5\r\nhello0\r\n\r\n", ChunkedRefusal.MissingChunkEnd)]
    [InlineData("5\r\nhello\n", ChunkedRefusal.MissingChunkEnd)]
    [InlineData("5\r\nhello\r0", ChunkedRefusal.MissingChunkEnd)]
    [InlineData("4\r\nhello\r\n", ChunkedRefusal.MissingChunkEnd)]
    [InlineData("0\r\n\rx", ChunkedRefusal.BareCr)]
    [InlineData("0\r\n\n", ChunkedRefusal.BareLf)]
    [InlineData("0\r\n: b\r\n", ChunkedRefusal.BadTrailer)]
    [InlineData("0\r\nA\r\n", ChunkedRefusal.BadTrailer)]
    [InlineData("0\r\nA : b\r\n", ChunkedRefusal.BadTrailer)]
    [InlineData("0\r\nA: b\r\n folded\r\n", ChunkedRefusal.BadTrailer)]
    [InlineData("0\r\nA: b\0\r\n", ChunkedRefusal.BadTrailer)]
    [InlineData("0\r\nA: b\nC: d\r\n", ChunkedRefusal.BareLf)]
    [InlineData("0\r\nA: b\rC: d\r\n", ChunkedRefusal.BareCr)]
    internal void What_is_no_chunked_body_is_refused(string text, ChunkedRefusal refusal)
        => Assert.Equal(refusal, Decode(text, text.Length).Refusal);

    [Fact]
    public void Bytes_after_the_body_are_not_consumed()
        => Assert.Equal(("x", "", 11), Decode("1\r\nx\r\n0\r\n\r\nGET / HTTP/1.1\r\n", 100).Body);

    [Fact]
    public void A_chunk_of_the_largest_size_is_counted_in_64_bits()
    {
        var decoder = default(ChunkedDecoder);
        byte[] bytes = Latin1.Bytes("7fffffffffffffff\r\nxyz");
        Assert.Equal(ChunkedStatus.Data, decoder.Read(bytes, out int consumed, out TextRange data));
        Assert.Equal((bytes.Length, "xyz"), (consumed, data.Text(bytes)));
        Assert.Equal(ChunkedStatus.NeedsMore, decoder.Read(default, out _, out _));
    }

    [Fact]
    public void The_end_and_a_refusal_are_final()
    {
        var decoder = default(ChunkedDecoder);
        Assert.Equal(ChunkedStatus.Done, decoder.Read("0\r\n\r\n"u8, out _, out _));
        Assert.Equal(ChunkedStatus.Done, decoder.Read("0\r\n\r\n"u8, out int consumed, out _));
        Assert.Equal(0, consumed);

        decoder = default;
        Assert.Equal(ChunkedStatus.Refused, decoder.Read("x"u8, out _, out _));
        Assert.Equal(ChunkedStatus.Refused, decoder.Read("0\r\n\r\n"u8, out consumed, out _));
        Assert.Equal((0, ChunkedRefusal.BadSize), (consumed, decoder.Refusal));
    }

    [Fact]
    public void Extensions_are_bounded_over_the_whole_body()
    {
        string small = $"1;{new string('a', 1000)}\r\nx\r\n";
        Assert.Equal(ChunkedRefusal.None, Decode(string.Concat(Enumerable.Repeat(small, 4)), 100_000).Refusal);
        Assert.Equal(ChunkedRefusal.ExtensionsTooLong, Decode(string.Concat(Enumerable.Repeat(small, 5)), 100_000).Refusal);
    }

    [Fact]
    public void Trailers_are_bounded()
    {
        string line = $"A: {new string('a', 995)}\r\n";
        Assert.Equal(ChunkedRefusal.None, Decode("0\r\n" + string.Concat(Enumerable.Repeat(line, 8)), 100_000).Refusal);
        Assert.Equal(ChunkedRefusal.TrailersTooLong, Decode("0\r\n" + string.Concat(Enumerable.Repeat(line, 9)), 100_000).Refusal);
    }

    [Theory]
    [InlineData("0\r\n\r\n", "")]
    [InlineData("0\r\nA: b\r\n\r\n", "A: b\r\n")]
    [InlineData("1\r\nx\r\n0\r\nA:b\r\nC: \t\xFF \r\n\r\nA: next\r\n", "A:b\r\nC: \t\xFF \r\n")]
    public void Trailers_are_given_as_lines(string text, string lines)
    {
        Assert.Equal(lines, Decode(text, text.Length).Body?.Trailers);
        Assert.Equal(lines, Decode(text, 1).Body?.Trailers);
    }

    [Fact]
    public void The_decoder_agrees_with_the_reference() => Cases.Run(30_000, random =>
    {
        string text = ChunkedGenerator.Any(random);
        Assert.Equal((text, ReferenceChunked.Decode(text)), (text, Decode(text, text.Length).Body));
    });

    [Fact]
    public void Every_split_ends_in_the_same_result() => Cases.Run(3_000, random =>
    {
        string text = ChunkedGenerator.Any(random);
        var whole = Decode(text, text.Length);
        for (int size = 1; size <= text.Length; size++)
        {
            Assert.Equal((size, whole), (size, Decode(text, size)));
        }

        for (int first = 0; first <= text.Length; first++)
        {
            Assert.Equal((first, whole), (first, Decode(text, first, text.Length - first)));
        }
    });

    /// <summary>Feeds the text in fragments of the given sizes, the last of which repeats.</summary>
    private static ((string Data, string Trailers, int Consumed)? Body, ChunkedRefusal Refusal) Decode(string text, params ReadOnlySpan<int> sizes)
    {
        byte[] bytes = Latin1.Bytes(text);
        var decoder = default(ChunkedDecoder);
        var data = new StringBuilder();
        var trailers = new StringBuilder();
        int at = 0;
        for (int fragment = 0; at < bytes.Length; fragment++)
        {
            ReadOnlySpan<byte> input = bytes.AsSpan(at, Math.Min(sizes[Math.Min(fragment, sizes.Length - 1)], bytes.Length - at));
            while (true)
            {
                ChunkedStatus status = decoder.Read(input, out int consumed, out TextRange piece, out TextRange lines);
                at += consumed;
                data.Append(Latin1.Text(piece.In(input)));
                trailers.Append(Latin1.Text(lines.In(input)));
                Assert.InRange(trailers.Length, 0, ChunkedDecoder.TrailerBytesMax);
                input = input[consumed..];
                if (status is ChunkedStatus.Done or ChunkedStatus.Refused)
                {
                    return (status == ChunkedStatus.Done ? (data.ToString(), trailers.ToString(), at) : null, decoder.Refusal);
                }

                if (status == ChunkedStatus.NeedsMore)
                {
                    Assert.Equal(0, input.Length);
                    break;
                }

                Assert.False(piece.IsEmpty);
            }
        }

        return (null, ChunkedRefusal.None);
    }
}
