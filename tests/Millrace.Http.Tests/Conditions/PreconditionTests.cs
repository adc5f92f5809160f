namespace Millrace.Http.Tests;

/// <summary>RFC 9110 sections 13.1.1 to 13.1.4 and 13.2.2.</summary>
public class PreconditionTests
{
    [Fact]
    public void A_request_without_conditions_proceeds() => Assert.Equal(200, new Conditional().Status());

    [Theory]
    [InlineData("*", "\"x\"", 200)]
    [InlineData("*", "", 200)]
    [InlineData("\"x\"", "\"x\"", 200)]
    [InlineData("\"a\", \"x\"", "\"x\"", 200)]
    [InlineData("\"a\", \"b\"", "\"x\"", 412)]
    [InlineData("W/\"x\"", "\"x\"", 412)]
    [InlineData("\"x\"", "W/\"x\"", 412)]
    [InlineData("W/\"x\"", "W/\"x\"", 412)]
    [InlineData("\"x\"", "", 412)]
    [InlineData("x", "\"x\"", 412)]
    [InlineData("\"x\", oops", "\"x\"", 412)]
    public void If_match_is_true_for_a_strong_match_only(string value, string tag, int status)
        => Assert.Equal(status, new Conditional { IfMatch = value, Tag = tag }.Status());

    [Theory]
    [InlineData("*", "\"x\"", 304)]
    [InlineData("*", "", 304)]
    [InlineData("\"x\"", "\"x\"", 304)]
    [InlineData("W/\"x\"", "\"x\"", 304)]
    [InlineData("\"x\"", "W/\"x\"", 304)]
    [InlineData("\"a\", W/\"x\"", "W/\"x\"", 304)]
    [InlineData("\"a\"", "\"x\"", 200)]
    [InlineData("\"x\"", "", 200)]
    [InlineData("x", "\"x\"", 200)]
    [InlineData("\"x\", oops", "\"x\"", 200)]
    public void If_none_match_is_false_for_a_weak_match(string value, string tag, int status)
        => Assert.Equal(status, new Conditional { IfNoneMatch = value, Tag = tag }.Status());

    [Theory]
    [InlineData(Conditional.Earlier, 200)]
    [InlineData(Conditional.Equal, 304)]
    [InlineData(Conditional.Later, 304)]
    [InlineData("Sunday, 06-Nov-94 08:49:37 GMT", 304)]
    [InlineData("Sunday, 06-Nov-94 08:49:36 GMT", 200)]
    [InlineData("Sun Nov  6 08:49:37 1994", 304)]
    [InlineData("Sun Nov  6 08:49:36 1994", 200)]
    [InlineData("Fri, 31 Dec 9999 23:59:59 GMT", 304)]
    public void If_modified_since_is_false_from_the_modification_date_on(string value, int status)
        => Assert.Equal(status, new Conditional { IfModifiedSince = value }.Status());

    [Theory]
    [InlineData(Conditional.Earlier, 412)]
    [InlineData(Conditional.Equal, 200)]
    [InlineData(Conditional.Later, 200)]
    [InlineData("Sunday, 06-Nov-94 08:49:37 GMT", 200)]
    [InlineData("Sunday, 06-Nov-94 08:49:36 GMT", 412)]
    [InlineData("Sun Nov  6 08:49:37 1994", 200)]
    [InlineData("Sun Nov  6 08:49:36 1994", 412)]
    [InlineData("Mon, 01 Jan 0001 00:00:00 GMT", 412)]
    public void If_unmodified_since_is_true_from_the_modification_date_on(string value, int status)
        => Assert.Equal(status, new Conditional { IfUnmodifiedSince = value }.Status());

    [Theory]
    [InlineData("yesterday")]
    [InlineData("0")]
    [InlineData("-1")]
    [InlineData("784111777")]
    [InlineData("\"x\"")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 UTC")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 GMT, Sun, 06 Nov 1994 08:49:37 GMT")]
    [InlineData("Sun, 06 Nov 1994 08:49:37 GMT; length=17")]
    public void A_date_that_is_none_or_more_than_one_is_ignored(string value)
    {
        Assert.Equal(200, new Conditional { IfModifiedSince = value }.Status());
        Assert.Equal(200, new Conditional { IfUnmodifiedSince = value }.Status());
    }

    [Fact]
    public void Dates_are_ignored_for_a_representation_without_one()
    {
        Assert.Equal(200, new Conditional { IfModifiedSince = Conditional.Later, LastModified = Validators.NoDate }.Status());
        Assert.Equal(200, new Conditional { IfUnmodifiedSince = Conditional.Earlier, LastModified = Validators.NoDate }.Status());
    }

    [Fact]
    public void A_weak_date_still_tells_whether_something_was_modified()
        => Assert.Equal(304, new Conditional { IfModifiedSince = Conditional.Equal, IsDateStrong = false }.Status());

    [Fact]
    public void If_unmodified_since_is_ignored_where_there_is_if_match()
    {
        Assert.Equal(200, new Conditional { IfMatch = "\"x\"", IfUnmodifiedSince = Conditional.Earlier }.Status());
        Assert.Equal(412, new Conditional { IfMatch = "\"a\"", IfUnmodifiedSince = Conditional.Later }.Status());
    }

    [Fact]
    public void If_modified_since_is_ignored_where_there_is_if_none_match()
    {
        Assert.Equal(200, new Conditional { IfNoneMatch = "\"a\"", IfModifiedSince = Conditional.Later }.Status());
        Assert.Equal(200, new Conditional { IfNoneMatch = "malformed", IfModifiedSince = Conditional.Later }.Status());
        Assert.Equal(304, new Conditional { IfNoneMatch = "\"x\"", IfModifiedSince = Conditional.Earlier }.Status());
    }

    [Fact]
    public void What_fails_comes_before_what_was_not_modified()
    {
        Assert.Equal(412, new Conditional { IfMatch = "\"a\"", IfNoneMatch = "\"x\"" }.Status());
        Assert.Equal(412, new Conditional { IfUnmodifiedSince = Conditional.Earlier, IfModifiedSince = Conditional.Later }.Status());
        Assert.Equal(304, new Conditional { IfMatch = "\"x\"", IfNoneMatch = "\"x\"" }.Status());
        Assert.Equal(304, new Conditional { IfUnmodifiedSince = Conditional.Equal, IfModifiedSince = Conditional.Equal }.Status());
    }

    [Fact]
    public void If_range_is_no_precondition()
        => Assert.Equal(200, new Conditional { IfRange = "\"a\"" }.Status());

    [Fact]
    public void All_combinations_agree_with_the_steps_of_the_rfc()
    {
        string?[] lists = [null, "*", "\"x\"", "W/\"x\"", "\"a\"", "\"a\", \"x\"", "W/\"a\" ,, W/\"x\",", "\"x\", oops", "x", "*, \"x\""];
        string?[] dates = [null, Conditional.Earlier, Conditional.Equal, Conditional.Later, "Sunday, 06-Nov-94 08:49:37 GMT", "oops"];
        var seen = new Dictionary<PreconditionOutcome, int>();
        foreach (Conditional current in Representations())
        {
            foreach (string? ifMatch in lists)
            {
                foreach (string? ifUnmodifiedSince in dates)
                {
                    foreach (string? ifNoneMatch in lists)
                    {
                        foreach (string? ifModifiedSince in dates)
                        {
                            Conditional request = current with
                            {
                                IfMatch = ifMatch,
                                IfUnmodifiedSince = ifUnmodifiedSince,
                                IfNoneMatch = ifNoneMatch,
                                IfModifiedSince = ifModifiedSince,
                            };
                            PreconditionOutcome expected = ReferenceConditions.Evaluate(request);
                            seen[expected] = seen.GetValueOrDefault(expected) + 1;
                            Assert.True(expected == request.Evaluate(), $"{request} should be {expected}");
                        }
                    }
                }
            }
        }

        Assert.All(Enum.GetValues<PreconditionOutcome>(), outcome => Assert.True(seen[outcome] > 1000, $"{outcome} was seldom"));
    }

    private static IEnumerable<Conditional> Representations()
        => from tag in new[] { "\"x\"", "W/\"x\"", "" }
           from modified in new[] { Conditional.Modified, Validators.NoDate }
           select new Conditional { Tag = tag, LastModified = modified };
}
