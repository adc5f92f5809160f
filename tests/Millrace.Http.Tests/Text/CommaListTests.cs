namespace Millrace.Http.Tests;

/// <summary>RFC 9110 section 5.6.1.</summary>
public class CommaListTests
{
    [Theory]
    [InlineData("", new[] { "" })]
    [InlineData("a", new[] { "a" })]
    [InlineData(" a\t,b , c d", new[] { "a", "b", "c d" })]
    [InlineData(",a,,b,", new[] { "", "a", "", "b", "" })]
    public void Elements_come_in_order_without_whitespace_and_with_the_empty_ones(string text, string[] elements)
    {
        var found = new List<string>();
        foreach (ReadOnlySpan<byte> element in new CommaList(Latin1.Bytes(text)))
        {
            found.Add(Latin1.Text(element));
        }

        Assert.Equal(elements, found);
    }
}
