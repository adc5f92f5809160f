namespace Millrace.Http.Tests;

/// <summary>RFC 9110 sections 5.6.1 and 5.6.4.</summary>
public class ElementListTests
{
    [Theory]
    [InlineData("", new[] { "" })]
    [InlineData("a", new[] { "a" })]
    [InlineData(" a\t,b , c d", new[] { "a", "b", "c d" })]
    [InlineData(",a,,b,", new[] { "", "a", "", "b", "" })]
    [InlineData("a=\"b,c\"", new[] { "a=\"b", "c\"" })]
    public void Elements_come_in_order_without_whitespace_and_with_the_empty_ones(string text, string[] elements)
    {
        var found = new List<string>();
        foreach (ReadOnlySpan<byte> element in new ElementList(Latin1.Bytes(text)))
        {
            found.Add(Latin1.Text(element));
        }

        Assert.Equal(elements, found);
    }

    [Theory]
    [InlineData("", new[] { "" })]
    [InlineData(" a\t,b , c d", new[] { "a", "b", "c d" })]
    [InlineData(",a,,b,", new[] { "", "a", "", "b", "" })]
    [InlineData("a;b=\"c,d\",e", new[] { "a;b=\"c,d\"", "e" })]
    [InlineData("a=\"\\\",\\\\\",b", new[] { "a=\"\\\",\\\\\"", "b" })]
    [InlineData("a\\,b", new[] { "a\\", "b" })]
    [InlineData("a\",b", new[] { "a\",b" })]
    [InlineData("a\",\\", new[] { "a\",\\" })]
    public void A_delimiter_within_quotes_separates_nothing(string text, string[] elements)
    {
        Assert.Equal(elements, Split(text, ','));
        Assert.Equal(elements.Select(Swap), Split(Swap(text), ';'));
    }

    private static string Swap(string text) => text.Replace(',', '\0').Replace(';', ',').Replace('\0', ';');

    private static List<string> Split(string text, char delimiter)
    {
        var found = new List<string>();
        foreach (ReadOnlySpan<byte> element in new ElementList(Latin1.Bytes(text), (byte)delimiter, hasQuotes: true))
        {
            found.Add(Latin1.Text(element));
        }

        return found;
    }
}
