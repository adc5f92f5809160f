namespace Millrace.Http.Tests;

/// <summary>RFC 9110 section 8.4.1.</summary>
public class ContentCodingTests
{
    [Fact]
    public void Every_coding_is_recognized_by_its_own_name_and_has_a_bit_of_its_own()
    {
        var sets = CodingSet.None;
        foreach (ContentCoding coding in Enum.GetValues<ContentCoding>())
        {
            Assert.True(ContentCodings.TryRecognize(ContentCodings.NameOf(coding), out ContentCoding recognized));
            Assert.Equal(coding, recognized);
            Assert.Equal(coding.ToString(), ContentCodings.SetOf(coding).ToString());
            Assert.False(sets.Has(coding));
            sets |= ContentCodings.SetOf(coding);
            Assert.True(sets.Has(coding));
        }

        Assert.Equal(ContentCodings.Count, Enum.GetValues<ContentCoding>().Length);
    }

    [Theory]
    [InlineData("")]
    [InlineData("*")]
    [InlineData("b")]
    [InlineData("deflate")]
    [InlineData("compress")]
    [InlineData("x-compress")]
    [InlineData("zst")]
    public void Other_names_are_not_recognized(string name) => Assert.False(ContentCodings.TryRecognize(Latin1.Bytes(name), out _));
}
