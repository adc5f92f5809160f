namespace Millrace.Http.Tests;

/// <summary>Field sections, RFC 9204 sections 2.2 and 4.5, and the answers to them, section 4.4.</summary>
public class QpackDecoderTests
{
    /// <summary>A capacity of 4096, and the entries "a: 1" and "b: 2".</summary>
    private const string TwoEntries = "3fe11f 41 61 01 31 41 62 01 32";

    [Fact]
    [Trait("Rfc", "9204-4.5.1")]
    public void A_section_of_a_prefix_alone_has_no_fields() => Assert.Equal("Ok", new Sections().Decode("0000"));

    [Theory]
    [Trait("Rfc", "9204-4.5.1")]
    [InlineData("")]
    [InlineData("00")]
    [InlineData("ff")]
    [InlineData("00 7f")]
    public void A_section_without_its_prefix_is_refused(string hex) => Assert.Equal("Truncated", new Sections().Decode(hex));

    [Fact]
    [Trait("Rfc", "9204-4.5.1.2")]
    public void A_section_that_refers_to_no_entry_may_have_any_base() => Assert.Equal(":path: /\nOk", new Sections().Decode("00 7fff ffff ff07 c1"));

    [Theory]
    [Trait("Rfc", "9204-4.5.1.2")]
    [InlineData("00 80")]
    [InlineData("03 82")]
    [InlineData("03 83")]
    public void A_negative_base_is_refused(string hex)
    {
        var sections = new Sections();
        sections.Insert(TwoEntries);
        Assert.Equal("BadBase", sections.Decode(hex));
    }

    [Fact]
    [Trait("Rfc", "9204-3.1")]
    public void An_index_beyond_the_static_table_is_refused()
    {
        Assert.Equal("x-frame-options: sameorigin\nOk", new Sections().Decode("0000 ff23"));
        Assert.Equal("BadIndex", new Sections().Decode("0000 ff24"));
        Assert.Equal("BadIndex", new Sections().Decode("0000 5f54 00"));
        Assert.Equal("BadIndex", new Sections().Decode("0000 ffff ffff ffff ffff ff07"));
    }

    [Theory]
    [Trait("Rfc", "9204-4.5.2")]
    [Trait("Rfc", "9204-4.5.3")]
    [Trait("Rfc", "9204-4.5.4")]
    [Trait("Rfc", "9204-4.5.5")]
    [Trait("Rfc", "9204-4.5.6")]
    [InlineData("0300 80 81", "b: 2\na: 1\nOk")]
    [InlineData("0380 80 10", "a: 1\nb: 2\nOk")]
    [InlineData("0381 10 11", "a: 1\nb: 2\nOk")]
    [InlineData("0300 40 0133", "b: 3\nOk")]
    [InlineData("0300 60 0133", "b: 3\nOk")]
    [InlineData("0381 01 0133", "b: 3\nOk")]
    [InlineData("0381 09 0133", "b: 3\nOk")]
    [InlineData("0000 51 0133", ":path: 3\nOk")]
    [InlineData("0000 71 0133", ":path: 3\nOk")]
    [InlineData("0000 21 63 0133", "c: 3\nOk")]
    [InlineData("0000 31 63 0133", "c: 3\nOk")]
    [InlineData("0000 2f01 25a849e95ba97d7f 8925a849e95bb8e8b4bf", "custom-key: custom-value\nOk")]
    public void Each_representation_names_its_field(string hex, string expected)
    {
        var sections = new Sections();
        sections.Insert(TwoEntries);
        Assert.Equal(expected, sections.Decode(hex));
    }

    // Section 2.2.3: evicted entries, and those that the insert count of the section does not cover, even if they have come.
    [Theory]
    [Trait("Rfc", "9204-2.2.3")]
    [InlineData("0300 82")]
    [InlineData("0200 10")]
    [InlineData("0280 11")]
    [InlineData("0201 80")]
    [InlineData("0000 80")]
    [InlineData("0000 10")]
    [InlineData("0300 42 00")]
    [InlineData("0300 10")]
    [InlineData("0300 00 00")]
    [InlineData("0300 bfc0 ffff ffff ffff ff3f")]
    [InlineData("0300 1ff0 ffff ffff ffff ff3f")]
    public void An_entry_that_the_section_cannot_mean_is_refused(string hex)
    {
        var sections = new Sections();
        sections.Insert(TwoEntries);
        Assert.Equal("BadReference", sections.Decode(hex).Split('\n')[^1]);
    }

    [Fact]
    [Trait("Rfc", "9204-2.2.3")]
    public void An_evicted_entry_is_refused()
    {
        var sections = new Sections(tableBytesMax: 68);
        sections.Insert("3f25 41 61 01 31 41 62 01 32 41 63 01 33");
        Assert.Equal("c: 3\nb: 2\nOk", sections.Decode("0400 80 81"));
        Assert.Equal("BadReference", sections.Decode("0400 82"));
    }

    [Fact]
    public void A_section_that_ends_within_a_field_is_refused_wherever_it_ends()
    {
        byte[] section = Blocks.Bytes("0000 2f01 25a849e95ba97d7f 8925a849e95bb8e8b4bf");
        for (int length = 3; length < section.Length; length++)
        {
            Assert.Equal((length, "Truncated"), (length, new Sections().Decode(Convert.ToHexString(section, 0, length))));
        }
    }

    [Fact]
    public void A_string_that_is_no_huffman_code_is_refused()
    {
        Assert.Equal("BadHuffman", new Sections().Decode("0000 29 ff 00"));
        Assert.Equal("BadHuffman", new Sections().Decode("0000 51 84 ffff ffff"));
    }

    // Section 4.1.1: integers of 62 bits must be decoded.
    [Fact]
    [Trait("Rfc", "9204-4.1.1")]
    public void An_integer_beyond_62_bits_is_refused()
    {
        Assert.Equal("BadIndex", new Sections().Decode("0000 ff c0ff ffff ffff ffff 3f"));
        Assert.Equal("IntegerOverflow", new Sections().Decode("0000 ff c1ff ffff ffff ffff 3f"));
        Assert.Equal("IntegerOverflow", new Sections().Decode("0000 ff ffff ffff ffff ffff ff"));
    }

    [Fact]
    public void Fields_beyond_the_limit_end_the_section_and_not_the_connection()
    {
        var sections = new Sections();
        sections.Insert(TwoEntries);
        Assert.Equal("a: 1\na: 1\nTooLarge", sections.Decode("0300 81 81 81", stream: 4, decodedBytesMax: 3));
        Assert.Equal(4, sections.Decoder.DecodedBytes);
        Assert.Equal("84", sections.Output);
        Assert.Equal("a: 1\nOk", sections.Decode("0300 81", stream: 8));
        Assert.Equal(2, sections.Decoder.DecodedBytes);
    }

    [Fact]
    [Trait("Rfc", "9204-2.1.2")]
    [Trait("Rfc", "9204-2.2.1")]
    public void A_section_waits_for_the_entries_that_it_needs()
    {
        var sections = new Sections();
        sections.Insert("3fe11f");
        Assert.Equal("Blocked", sections.Decode("0300 80", stream: 4));
        Assert.Equal("Blocked", sections.Decode("0200 80", stream: 0));
        Assert.False(sections.Decoder.TryTakeUnblocked(out _));

        sections.Insert("41 61 01 31");
        Assert.True(sections.Decoder.TryTakeUnblocked(out long stream));
        Assert.Equal(0, stream);
        Assert.False(sections.Decoder.TryTakeUnblocked(out _));
        Assert.Equal("a: 1\nOk", sections.Decode("0200 80", stream: 0));

        sections.Insert("41 62 01 32");
        Assert.True(sections.Decoder.TryTakeUnblocked(out stream));
        Assert.Equal((4, 0), (stream, sections.Decoder.BlockedStreams));
        Assert.Equal("b: 2\nOk", sections.Decode("0300 80", stream: 4));
        Assert.Equal("8084", sections.Output);
    }

    [Fact]
    [Trait("Rfc", "9204-2.1.2")]
    public void More_blocked_streams_than_promised_are_refused()
    {
        var sections = new Sections(blockedMax: 2);
        Assert.Equal("Blocked", sections.Decode("0200 80", stream: 0));
        Assert.Equal("Blocked", sections.Decode("0200 80", stream: 4));
        Assert.Equal("Blocked", sections.Decode("0200 80", stream: 4));
        Assert.Equal(QpackResult.Ok, sections.Decoder.Cancel(0));
        Assert.Equal("Blocked", sections.Decode("0200 80", stream: 8));
        Assert.Equal("TooManyBlocked", sections.Decode("0200 80", stream: 12));
        Assert.Equal("TooManyBlocked", new Sections(blockedMax: 0).Decode("0200 80"));
    }

    [Fact]
    [Trait("Rfc", "9204-2.1.4")]
    [Trait("Rfc", "9204-4.4.1")]
    [Trait("Rfc", "9204-4.4.3")]
    public void An_insertion_is_acknowledged_once_by_a_section_or_by_a_count()
    {
        var sections = new Sections();
        sections.Insert(TwoEntries);
        Assert.Equal("a: 1\nOk", sections.Decode("0200 80", stream: 200));
        Assert.Equal("ff49", sections.Output);
        Assert.Equal(QpackResult.Ok, sections.Decoder.AcknowledgeInsertions());
        Assert.Equal(QpackResult.Ok, sections.Decoder.AcknowledgeInsertions());
        Assert.Equal("01", sections.Output);
        Assert.Equal("b: 2\nOk", sections.Decode("0300 80", stream: 4));
        Assert.Equal(":path: /\nOk", sections.Decode("0000 c1", stream: 8));
        Assert.Equal(QpackResult.Ok, sections.Decoder.AcknowledgeInsertions());
        Assert.Equal("84", sections.Output);
    }

    [Fact]
    [Trait("Rfc", "9204-2.2.2.2")]
    [Trait("Rfc", "9204-4.4.2")]
    public void A_stream_that_is_abandoned_is_cancelled_unless_there_is_no_table()
    {
        var sections = new Sections();
        Assert.Equal(QpackResult.Ok, sections.Decoder.Cancel(4));
        Assert.Equal(QpackResult.Ok, sections.Decoder.Cancel(64));
        Assert.Equal("447f01", sections.Output);
        var without = new Sections(tableBytesMax: 0, blockedMax: 0);
        Assert.Equal(QpackResult.Ok, without.Decoder.Cancel(4));
        Assert.Equal("", without.Output);
    }

    [Fact]
    public void Without_a_table_no_entry_can_be_referred_to()
    {
        var sections = new Sections(tableBytesMax: 0, blockedMax: 0);
        Assert.Equal("BadInsertCount", sections.Decode("0100 80"));
        Assert.Equal("BadReference", sections.Decode("0000 80"));
        Assert.Equal(":path: /\nOk", sections.Decode("0000 c1"));
    }

    [Fact]
    public void Answers_that_the_peer_takes_no_credit_for_are_bounded()
    {
        var sections = new Sections();
        int cancelled = 0;
        while (sections.Decoder.Cancel(4L << 40) == QpackResult.Ok)
        {
            cancelled++;
            Assert.True(cancelled < 10_000);
        }

        Assert.InRange(sections.Decoder.Output.Length, QpackDecoderOutput.BytesMax - QpackInteger.BytesMax, QpackDecoderOutput.BytesMax);
        sections.Insert(TwoEntries);
        Assert.Equal(QpackResult.OutputFull, sections.Decoder.AcknowledgeInsertions());
        Assert.Equal("a: 1\nOutputFull", sections.Decode("0300 81", stream: 4));
        Assert.Equal(Http3Error.ExcessiveLoad, QpackResults.ErrorOfSection(QpackResult.OutputFull));

        sections.Decoder.Advance(100);
        Assert.Equal(QpackResult.Ok, sections.Decoder.Cancel(4L << 40));
    }

    [Fact]
    public void Every_error_of_a_section_has_the_code_for_it()
    {
        Assert.All(Enum.GetValues<QpackResult>(), result => Assert.Equal(
            result is QpackResult.Ok or QpackResult.Blocked or QpackResult.TooLarge,
            QpackResults.ErrorOfSection(result) == Http3Error.None));
        Assert.Equal(0x200, QpackResults.ErrorOfSection(QpackResult.BadReference));
        Assert.Equal(0x201, QpackResults.ErrorOfInstruction(QpackResult.BadReference));
        Assert.Equal(0x107, QpackResults.ErrorOfInstruction(QpackResult.Flood));
        Assert.Equal(Http3Error.None, QpackResults.ErrorOfInstruction(QpackResult.Ok));
    }
}
