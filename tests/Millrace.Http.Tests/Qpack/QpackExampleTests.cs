namespace Millrace.Http.Tests;

/// <summary>The examples of RFC 9204 appendix B, which are one connection.</summary>
public class QpackExampleTests
{
    [Fact]
    [Trait("Rfc", "9204-B")]
    public void Appendix_B_is_decoded_with_its_states_and_answers()
    {
        var sections = new Sections(tableBytesMax: 220);

        // B.1: a literal with a name of the static table.
        Assert.Equal(":path: /index.html\nOk", sections.Decode("0000 510b 2f69 6e64 6578 2e68 746d 6c", stream: 0));
        Assert.Equal("", sections.Output);

        // B.2: a capacity and two insertions, of which a section with post-base indices tells.
        Assert.Equal((2, 106), sections.Insert("3fbd01 c00f 7777 772e 6578 616d 706c 652e 636f 6d c10c 2f73 616d 706c 652f 7061 7468"));
        Assert.Equal(":authority: www.example.com\n:path: /sample/path\nOk", sections.Decode("0381 10 11", stream: 4));
        Assert.Equal("84", sections.Output);

        // B.3: an insertion that no section refers to.
        Assert.Equal((3, 160), sections.Insert("4a63 7573 746f 6d2d 6b65 790c 6375 7374 6f6d 2d76 616c 7565"));
        Assert.Equal(QpackResult.Ok, sections.Decoder.AcknowledgeInsertions());
        Assert.Equal("01", sections.Output);

        // B.4: a section comes before the duplicate that it refers to, and its stream is cancelled.
        Assert.Equal("Blocked", sections.Decode("0500 80 c1 81", stream: 8));
        Assert.Equal(QpackResult.Ok, sections.Decoder.Cancel(8));
        Assert.Equal("48", sections.Output);
        Assert.Equal((4, 217), sections.Insert("02"));
        Assert.False(sections.Decoder.TryTakeUnblocked(out _));

        // The same section, if its stream had not been cancelled.
        Assert.Equal(":authority: www.example.com\n:path: /\ncustom-key: custom-value\nOk", sections.Decode("0500 80 c1 81", stream: 8));

        // B.5: an insertion evicts the oldest entry, whose name it does not borrow.
        Assert.Equal((4, 215), sections.Insert("810d 6375 7374 6f6d 2d76 616c 7565 32"));
        Assert.Equal("custom-key: custom-value2\n:path: /sample/path\nOk", sections.Decode("0600 80 83", stream: 12));
        Assert.Equal("BadReference", sections.Decode("0600 84", stream: 16));
    }

    // Section 4.5.1.1: with 100 bytes of table and 10 insertions, an encoded 4 means 9.
    [Theory]
    [Trait("Rfc", "9204-4.5.1.1")]
    [InlineData(4, 3, 10, 9)]
    [InlineData(0, 3, 10, 0)]
    [InlineData(1, 3, 10, 12)]
    [InlineData(2, 3, 10, 13)]
    [InlineData(3, 3, 10, 8)]
    [InlineData(6, 3, 10, 11)]
    [InlineData(2, 3, 0, 1)]
    public void A_required_insert_count_is_the_only_one_that_can_still_be_meant(long encoded, long entriesMax, long inserted, long required)
    {
        Assert.True(QpackSectionPrefix.TryDecodeInsertCount(encoded, entriesMax, inserted, out long decoded));
        Assert.Equal(required, decoded);
    }

    [Theory]
    [Trait("Rfc", "9204-4.5.1.1")]
    [InlineData(7, 3, 10)]
    [InlineData(1, 3, 0)]
    [InlineData(5, 3, 0)]
    [InlineData(1, 0, 0)]
    public void An_insert_count_that_no_encoder_sends_is_refused(long encoded, long entriesMax, long inserted) =>
        Assert.False(QpackSectionPrefix.TryDecodeInsertCount(encoded, entriesMax, inserted, out _));

    // Section 4.5.1.2: a required insert count of 9, a sign of 1 and a delta of 2 set the base to 6.
    [Fact]
    [Trait("Rfc", "9204-4.5.1.2")]
    public void A_base_below_the_insert_count_gives_post_base_indices_to_three_entries()
    {
        var sections = new Sections(tableBytesMax: 4096);
        sections.Insert("3fe11f" + string.Concat(Enumerable.Range(1, 9).Select(index => $"41 61 02 {index + 0x30:x2}{index + 0x30:x2}")));
        Assert.Equal("a: 55\na: 88\nOk", sections.Decode("0a82 81 11"));
    }
}
