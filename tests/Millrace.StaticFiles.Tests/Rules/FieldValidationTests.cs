using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Tests.Rules;

public class FieldValidationTests
{
    public static TheoryData<string> Owned => [.. FieldValidation.OwnedNames];

    [Theory]
    [MemberData(nameof(Owned))]
    public void A_field_the_server_answers_for_is_refused_with_the_reason(string name)
    {
        SiteException refusal = Assert.Throws<SiteException>(() => FieldValidation.Check(name.ToUpperInvariant(), "x"));

        Assert.Contains("is set by the server: it ", refusal.Cause, StringComparison.Ordinal);
        Assert.NotEmpty(refusal.Remedy);
    }

    [Fact]
    public void The_owned_ones_are_those_that_frame_validate_and_date() =>
        Assert.Superset(
            new HashSet<string>
            {
                "Content-Length", "Transfer-Encoding", "Connection", "Date", "ETag", "Content-Encoding", "Content-Range", "Last-Modified",
            },
            FieldValidation.OwnedNames.ToHashSet());

    [Theory]
    [InlineData("X-A", "b")]
    [InlineData("x.a!#$%&'*+-^_`|~9", "b")]
    [InlineData("Content-Type", "text/plain; charset=utf-8")]
    [InlineData("Content-Type", "text/plain ;charset=utf-8")]
    [InlineData("Cache-Control", "no-store")]
    [InlineData("Vary", "X")]
    [InlineData("X-Tab", "a\tb")]
    public void A_field_is_accepted(string name, string value) => FieldValidation.Check(name, value);

    [Theory]
    [InlineData("", "b")]
    [InlineData("X A", "b")]
    [InlineData("X:", "b")]
    [InlineData("X\r\nY", "b")]
    [InlineData("Ä", "b")]
    [InlineData("X-A", "")]
    [InlineData("X-A", " b")]
    [InlineData("X-A", "b\t")]
    [InlineData("X-A", "a\rb")]
    [InlineData("X-A", "a\nb")]
    [InlineData("X-A", "a\0b")]
    [InlineData("X-A", "a\u007fb")]
    [InlineData("X-A", "ä")]
    [InlineData("Content-Type", "text")]
    [InlineData("Content-Type", "text/")]
    [InlineData("Content-Type", "/plain")]
    [InlineData("Content-Type", "te xt/plain")]
    public void What_is_no_field_is_refused(string name, string value) =>
        Assert.Throws<SiteException>(() => FieldValidation.Check(name, value));

    [Fact]
    public void A_value_has_a_longest_length()
    {
        FieldValidation.Check("X", new string('a', FieldValidation.ValueCharactersMax));
        Assert.Throws<SiteException>(() => FieldValidation.Check("X", new string('a', FieldValidation.ValueCharactersMax + 1)));
    }

    [Fact]
    public void A_text_is_shown_short_and_without_controls() =>
        Assert.Equal("a?b" + new string('c', 57) + "...", FieldValidation.Shown("a\u001bb" + new string('c', 100)));
}
