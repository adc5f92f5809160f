namespace Millrace.Http.Tests;

/// <summary>What a peer may say to an encoder without a table, RFC 9204 section 4.4.</summary>
public class QpackDecoderStreamReaderTests
{
    [Theory]
    [Trait("Rfc", "9204-4.4.2")]
    [InlineData("")]
    [InlineData("40")]
    [InlineData("44 48 7f01 7fff ffff ffff ffff ff1f 40")]
    public void Streams_may_be_cancelled(string hex)
    {
        byte[] bytes = Blocks.Bytes(hex);
        for (int piece = 1; piece <= bytes.Length; piece++)
        {
            var reader = default(QpackDecoderStreamReader);
            Assert.All(bytes.Chunk(piece), chunk => Assert.Equal(Http3Error.None, reader.Read(chunk)));
        }
    }

    // A count of 0, or of more than was inserted; a section that needs no acknowledgment; an integer without end.
    [Theory]
    [Trait("Rfc", "9204-4.4.1")]
    [Trait("Rfc", "9204-4.4.3")]
    [InlineData("00")]
    [InlineData("01")]
    [InlineData("84")]
    [InlineData("44 80")]
    [InlineData("7f ffff ffff ffff ffff ff")]
    public void What_was_never_sent_cannot_be_acknowledged(string hex)
    {
        var reader = default(QpackDecoderStreamReader);
        Assert.Equal(0x202, reader.Read(Blocks.Bytes(hex)));
    }
}
