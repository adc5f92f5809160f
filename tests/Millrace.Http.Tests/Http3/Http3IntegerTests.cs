namespace Millrace.Http.Tests;

/// <summary>RFC 9000 section 16 and appendix A.1.</summary>
public class Http3IntegerTests
{
    [Theory]
    [Trait("Rfc", "9000-16")]
    [InlineData("c2197c5eff14e88c", 151_288_809_941_952_652)]
    [InlineData("9d7f3e7d", 494_878_333)]
    [InlineData("7bbd", 15_293)]
    [InlineData("25", 37)]
    public void The_examples_of_the_RFC_are_read_and_written(string hex, long value)
    {
        byte[] bytes = Blocks.Bytes(hex);
        Assert.True(Http3Integer.TryRead(bytes, out long read, out int length));
        Assert.Equal((value, bytes.Length), (read, length));
        byte[] written = new byte[bytes.Length];
        Assert.Equal(bytes.Length, Http3Integer.Write(written, value));
        Assert.Equal(bytes, written);
        Assert.False(Http3Integer.TryRead(bytes.AsSpan(0, bytes.Length - 1), out _, out _));
    }

    [Fact]
    public void A_longer_encoding_than_needed_is_read_too()
    {
        Assert.True(Http3Integer.TryRead([0x40, 0x25], out long value, out int length));
        Assert.Equal((37, 2), (value, length));
    }

    [Fact]
    public void Integers_in_pieces_are_read_as_whole_ones() => Cases.Run(2_000, random =>
    {
        long[] values = [.. Enumerable.Range(0, random.Next(1, 8)).Select(_ => random.NextInt64(Http3Integer.Max + 1) >> random.Next(63))];
        var bytes = new List<byte>();
        Assert.All(values, value => Http3Generator.Number(bytes, random, value));
        var reader = default(Http3IntegerReader);
        var read = new List<long>();
        foreach (byte[] piece in bytes.Chunk(random.Next(1, 9)))
        {
            int at = 0;
            while (reader.TryRead(piece, ref at, out long value))
            {
                read.Add(value);
            }

            Assert.Equal(piece.Length, at);
        }

        Assert.Equal(values, read);
        Assert.False(reader.IsWithin);
    });
}
