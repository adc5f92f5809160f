namespace Millrace.Http.Tests;

/// <summary>RFC 9110 section 13.1.5.</summary>
public class IfRangeTests
{
    [Fact]
    public void Without_if_range_a_range_applies() => Assert.True(new Conditional().RangeApplies());

    [Theory]
    [InlineData("\"x\"", "\"x\"", true)]
    [InlineData("\"a,b\"", "\"a,b\"", true)]
    [InlineData("\"a\"", "\"x\"", false)]
    [InlineData("\"x\"", "", false)]
    public void A_tag_must_be_that_of_the_representation(string value, string tag, bool applies)
        => Assert.Equal(applies, new Conditional { IfRange = value, Tag = tag }.RangeApplies());

    [Theory]
    [InlineData("W/\"x\"", "\"x\"")]
    [InlineData("\"x\"", "W/\"x\"")]
    [InlineData("W/\"x\"", "W/\"x\"")]
    public void A_weak_tag_never_matches(string value, string tag)
        => Assert.False(new Conditional { IfRange = value, Tag = tag }.RangeApplies());

    [Theory]
    [InlineData(Conditional.Equal, true)]
    [InlineData("Sunday, 06-Nov-94 08:49:37 GMT", true)]
    [InlineData("Sun Nov  6 08:49:37 1994", true)]
    [InlineData(Conditional.Earlier, false)]
    [InlineData(Conditional.Later, false)]
    public void A_date_must_be_exactly_that_of_the_representation(string value, bool applies)
        => Assert.Equal(applies, new Conditional { IfRange = value }.RangeApplies());

    [Fact]
    public void A_weak_date_never_matches()
        => Assert.False(new Conditional { IfRange = Conditional.Equal, IsDateStrong = false }.RangeApplies());

    [Fact]
    public void A_tag_needs_no_strong_date()
        => Assert.True(new Conditional { IfRange = "\"x\"", IsDateStrong = false, LastModified = Validators.NoDate }.RangeApplies());

    [Theory]
    [InlineData("*")]
    [InlineData("x")]
    [InlineData("\"x")]
    [InlineData("\"x\", \"x\"")]
    [InlineData("\"x\" ")]
    [InlineData("yesterday")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT")]
    public void A_value_that_is_neither_one_tag_nor_a_date_is_false(string value)
        => Assert.False(new Conditional { IfRange = value }.RangeApplies());

    [Fact]
    public void A_date_is_false_for_a_representation_without_one()
        => Assert.False(new Conditional { IfRange = Conditional.Equal, LastModified = Validators.NoDate }.RangeApplies());

    [Fact]
    public void All_combinations_agree_with_the_reference()
    {
        string?[] values =
        [
            null, "\"x\"", "W/\"x\"", "\"a\"", "\"x\", \"x\"", "*", "x", "\"", "\"x", "W/", "oops", "\"x\"x",
            Conditional.Earlier, Conditional.Equal, Conditional.Later, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ];
        var requests = from value in values
                       from tag in new[] { "\"x\"", "W/\"x\"", "" }
                       from modified in new[] { Conditional.Modified, Validators.NoDate }
                       from isStrong in new[] { true, false }
                       select new Conditional { IfRange = value, Tag = tag, LastModified = modified, IsDateStrong = isStrong };
        Assert.All(requests, request => Assert.Equal(ReferenceConditions.RangeApplies(request), request.RangeApplies()));
    }
}
