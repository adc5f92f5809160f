namespace Millrace.Http.Tests;

/// <summary>RFC 9110 section 12.5.1.</summary>
public class AcceptTests
{
    [Theory]
    [InlineData("application/json")]
    [InlineData("APPLICATION/JSON")]
    [InlineData("application/json;charset=utf-8")]
    [InlineData("application/json;q=0.001")]
    [InlineData("application/*")]
    [InlineData("application/json;, application/json;v=1;q=0")]
    [InlineData("application/json, text/javascript, */*; q=0.01")]
    [InlineData("application/json, text/plain, */*")]
    [InlineData("*/*, application/json")]
    [InlineData("text/html;q=0.5, application/json")]
    [InlineData("text/html;q=0.5, application/json;q=0.501")]
    [InlineData("text/html;q=0, */*")]
    [InlineData("text/*;q=0.3, */*;q=0.4")]
    [InlineData("text/html;q=x, application/json;q=0.1")]
    [InlineData("application/json;profile=\"text/html, a\"")]
    [InlineData("a/b;c=\"d\\\",text/html\", application/json;q=0.2")]
    public void Json_is_preferred_by_weight_or_being_named(string value) => Assert.True(PrefersJson(value));

    [Theory]
    [InlineData("")]
    [InlineData("*/*")]
    [InlineData("text/html")]
    [InlineData("application/json, text/html")]
    [InlineData("application/json;q=0.5, text/html;q=0.5")]
    [InlineData("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8")]
    [InlineData("application/json;q=0.5, */*")]
    [InlineData("application/json;q=0.5, text/*;q=0.6")]
    [InlineData("application/json;q=0")]
    [InlineData("application/json;q=0, */*")]
    [InlineData("application/*, text/*")]
    [InlineData("text/html;level=1, application/json;q=0.9")]
    [InlineData("application/json;q=x")]
    [InlineData("application/json;q=2, text/html")]
    [InlineData("application/jsonp")]
    [InlineData("application/json5, application/jso")]
    [InlineData("application/")]
    [InlineData("json")]
    [InlineData("*/json")]
    [InlineData("*")]
    [InlineData("a/b;c=\", application/json, \"")]
    [InlineData("application/json, application/json;q=0")]
    [InlineData("application/json;q=0, application/json")]
    [InlineData("application/json;q=0.4, text/html;q=x, */*;q=0.5")]
    public void Json_is_not_preferred_otherwise(string value) => Assert.False(PrefersJson(value));

    [Theory]
    [InlineData("text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8", true)]
    [InlineData("text/html", true)]
    [InlineData("TEXT/HTML;q=0.1", true)]
    [InlineData("text/html, */*", true)]
    [InlineData("text/html, text/*", true)]
    [InlineData("text/plain;q=0.9, text/html", true)]
    [InlineData("text/plain;q=0, */*", true)]
    [InlineData("", false)]
    [InlineData("*/*", false)]
    [InlineData("text/*", false)]
    [InlineData("text/html;q=0", false)]
    [InlineData("text/html, text/plain", false)]
    [InlineData("text/html;q=0.5, */*", false)]
    [InlineData("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", false)]
    [InlineData("application/json", false)]
    public void Html_is_preferred_to_text_by_weight_or_being_named(string value, bool isPreferred) =>
        Assert.Equal(isPreferred, Accept.PrefersHtml(Latin1.Bytes(value)));

    // The example of section 12.5.1: text/html;level=1 is 1, text/html 0.7, text/html;level=3 0.7, image/jpeg 0.5.
    [Theory]
    [InlineData("application", "json", 500, MediaPrecision.Any)]
    [InlineData("text", "html", 700, MediaPrecision.Named)]
    [InlineData("text", "plain", 300, MediaPrecision.Family)]
    public void The_most_precise_range_decides(string type, string subtype, int weight, object precision)
    {
        byte[] value = Latin1.Bytes("text/*;q=0.3, text/html;q=0.7, text/html;level=1, text/html;level=2;q=0.4, */*;q=0.5");
        Assert.Equal(
            new MediaPreference((MediaPrecision)precision, weight),
            MediaPreference.Find(value, Latin1.Bytes(type), Latin1.Bytes(subtype)));
    }

    [Theory]
    [InlineData("text/html")]
    [InlineData("Text/HTML;q=0.1")]
    [InlineData("text/html;level=1")]
    [InlineData("text/html;q=0.1;level=1")]
    [InlineData("text/html;level=1;q=0.1")]
    [InlineData("text/html ; charset=utf-8")]
    [InlineData("a/b, text/html")]
    [InlineData("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")]
    public void Html_is_named_as_browsers_do(string value) => Assert.True(NamesHtml(value));

    [Theory]
    [InlineData("")]
    [InlineData("*/*")]
    [InlineData("text/*")]
    [InlineData("text/html;q=0")]
    [InlineData("text/html;level=1;q=0.0")]
    [InlineData("text/html;q=oops")]
    [InlineData("text/htmlx")]
    [InlineData("text/ html")]
    [InlineData("application/xhtml+xml")]
    [InlineData("a/b;c=\"text/html\"")]
    [InlineData("a/b;c=\", text/html ,\"")]
    public void Html_is_not_named_by_a_wildcard_or_a_refusal(string value) => Assert.False(NamesHtml(value));

    private static bool PrefersJson(string value) => Accept.PrefersJson(Latin1.Bytes(value));

    private static bool NamesHtml(string value) => Accept.NamesHtml(Latin1.Bytes(value));
}
