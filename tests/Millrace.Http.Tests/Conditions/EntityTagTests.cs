namespace Millrace.Http.Tests;

/// <summary>RFC 9110 sections 8.8.3, 13.1.1 and 13.1.2.</summary>
public class EntityTagTests
{
    // The table of section 8.8.3.2, and what it leaves out.
    [Theory]
    [InlineData("W/\"1\"", "W/\"1\"", false, true)]
    [InlineData("W/\"1\"", "W/\"2\"", false, false)]
    [InlineData("W/\"1\"", "\"1\"", false, true)]
    [InlineData("\"1\"", "\"1\"", true, true)]
    [InlineData("\"1\"", "\"2\"", false, false)]
    [InlineData("\"\"", "\"\"", true, true)]
    [InlineData("\"a\"", "\"A\"", false, false)]
    [InlineData("\"W/1\"", "\"1\"", false, false)]
    [InlineData("", "\"1\"", false, false)]
    [InlineData("", "", false, false)]
    public void Tags_compare_as_the_table_of_the_rfc_has_it(string left, string right, bool strong, bool weak)
    {
        foreach ((string one, string other) in new[] { (left, right), (right, left) })
        {
            Assert.Equal(strong, EntityTags.AreEqual(Latin1.Bytes(one), Latin1.Bytes(other), TagComparison.Strong));
            Assert.Equal(weak, EntityTags.AreEqual(Latin1.Bytes(one), Latin1.Bytes(other), TagComparison.Weak));
        }
    }

    [Theory]
    [InlineData("\"x\"")]
    [InlineData("\"a\",\"x\"")]
    [InlineData("\"x\",\"a\"")]
    [InlineData("\"a\" \t,\t \"x\" , \"b\"")]
    [InlineData("\"a\", \"x\"")]
    [InlineData(",, \"a\",\t,\"x\",")]
    [InlineData("\"a,b\", \"x\"")]
    [InlineData("\",\",\"x\"")]
    [InlineData("\"x\", \"x\"")]
    [InlineData("W/\"a\", \"x\"")]
    [InlineData("\"\", \"x\"")]
    [InlineData("\"\xE4\xFF\\\", \"x\"")]
    public void A_tag_is_found_anywhere_in_a_list(string list)
    {
        Assert.True(Matches(list, "\"x\"", TagComparison.Weak));
        Assert.True(Matches(list, "\"x\"", TagComparison.Strong));
        Assert.True(Matches(list, "W/\"x\"", TagComparison.Weak));
        Assert.False(Matches(list, "W/\"x\"", TagComparison.Strong));
        Assert.False(Matches(list, "\"y\"", TagComparison.Weak));
        Assert.False(Matches(list, "", TagComparison.Weak));
    }

    [Theory]
    [InlineData("\"a,b\"", "\"a\"")]
    [InlineData("\"a,b\"", "\"b\"")]
    [InlineData("\"a\",\"b\"", "\",\"")]
    [InlineData("\"a\\\",\"b\"", "\"b\\\"")]
    public void A_comma_within_quotes_separates_nothing_and_a_backslash_escapes_nothing(string list, string other)
        => Assert.False(Matches(list, other, TagComparison.Weak));

    [Theory]
    [InlineData("x")]
    [InlineData("\"x")]
    [InlineData("x\"")]
    [InlineData("w/\"x\"")]
    [InlineData("W/ \"x\"")]
    [InlineData("W\"x\"")]
    [InlineData("W/")]
    [InlineData("W/*")]
    [InlineData("\"x\" \"x\"")]
    [InlineData("\"x\"\"x\"")]
    [InlineData("\"x\"; \"x\"")]
    [InlineData("\"x\", y")]
    [InlineData("y, \"x\"")]
    [InlineData("\"x\", \"y")]
    [InlineData("\"x\", \"y z\"")]
    [InlineData("\"x\", \"y\x7F\"")]
    [InlineData("\"x\", \"y\t\"")]
    [InlineData("\"x\", *")]
    [InlineData("*, \"x\"")]
    [InlineData("*, *")]
    [InlineData("**")]
    public void A_malformed_list_matches_nothing_not_even_its_good_tags(string list)
        => Assert.False(Matches(list, "\"x\"", TagComparison.Weak));

    [Theory]
    [InlineData("\"x\"")]
    [InlineData("W/\"x\"")]
    [InlineData("")]
    public void An_asterisk_matches_every_representation_there_is(string current)
    {
        Assert.True(Matches("*", current, TagComparison.Strong));
        Assert.True(Matches("*", current, TagComparison.Weak));
    }

    [Theory]
    [InlineData("")]
    [InlineData(",")]
    [InlineData(" ,\t, ")]
    public void A_list_of_nothing_matches_nothing(string list) => Assert.False(Matches(list, "\"\"", TagComparison.Weak));

    [Fact]
    public void Only_the_bytes_of_an_opaque_tag_may_be_in_one()
    {
        for (int value = 0; value < 256; value++)
        {
            bool isAllowed = value == 0x21 || value is >= 0x23 and <= 0x7E || value >= 0x80;
            string tag = $"\"{(char)value}\"";
            Assert.Equal((value, isAllowed), (value, Matches(tag, tag, TagComparison.Strong)));
        }
    }

    private static bool Matches(string list, string current, TagComparison comparison)
        => EntityTags.Matches(Latin1.Bytes(list), Latin1.Bytes(current), comparison);
}
