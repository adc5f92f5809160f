namespace Millrace.Http.Tests;

/// <summary>RFC 5890 to 5892, and RFC 3492 for the coding.</summary>
public class DomainNameTests
{
    // The A-labels are those that browsers and libidn2 make.
    [Theory]
    [InlineData("example.org", "example.org")]
    [InlineData("EXAMPLE.org", "EXAMPLE.org")]
    [InlineData("xn--bcher-kva.example", "xn--bcher-kva.example")]
    [InlineData("b\u00FCcher.example", "xn--bcher-kva.example")]
    [InlineData("B\u00DCCHER.example", "xn--bcher-kva.example")]
    [InlineData("www.b\u00FCcher.example", "www.xn--bcher-kva.example")]
    [InlineData("stra\u00DFe.de", "xn--strae-oqa.de")]
    [InlineData("\u4F8B\u3048.\u30C6\u30B9\u30C8", "xn--r8jz45g.xn--zckzah")]
    [InlineData("\u4F8B\u3048\u3002\u30C6\u30B9\u30C8", "xn--r8jz45g.xn--zckzah")]
    [InlineData("\u043C\u0438\u0440.\u0440\u0444", "xn--h1ahn.xn--p1ai")]
    [InlineData("\u041C\u0418\u0420.\u0440\u0444", "xn--h1ahn.xn--p1ai")]
    [InlineData("\u09AC\u09BE\u0982\u09B2\u09BE", "xn--54b7fta0cc")]
    [InlineData("\u0E44\u0E17\u0E22", "xn--o3cw4h")]
    public void A_name_becomes_what_clients_send(string name, string sent)
    {
        Assert.True(DomainName.TryEncode(name, out string? ascii, out string? problem), problem);
        Assert.Equal(sent, ascii);
    }

    // What a browser would normalize first becomes another name there than it would here.
    [Theory]
    [InlineData("bu\u0308cher.example", "U+0308")]
    [InlineData("\uFF46ull.example", "U+FF46")]
    [InlineData("o\uFB03ce.example", "U+FB03")]
    [InlineData("\u0130.com", "U+0130")]
    [InlineData("\u30CF\u3099.jp", "U+3099")]
    [InlineData("\u1112\u1161\u11AB.kr", "U+1112")]
    [InlineData("\u200Db\u00FC.example", "U+200D")]
    [InlineData("b\u00ADb\u00FC.example", "U+00AD")]
    [InlineData("\U0001F600.example", "U+1F600")]
    [InlineData("\u00FC..example", "empty")]
    [InlineData("\uD800.example", "U+FFFD")]
    public void What_cannot_be_coded_is_refused_with_its_reason(string name, string reason)
    {
        Assert.False(DomainName.TryEncode(name, out _, out string? problem));
        Assert.Contains(reason, problem, StringComparison.Ordinal);
    }

    [Fact]
    public void A_label_is_at_most_63_bytes_when_it_is_coded()
    {
        Assert.True(DomainName.TryEncode(new string('\u00FC', 50) + ".example", out string? ascii, out _));
        Assert.InRange(ascii.IndexOf('.', StringComparison.Ordinal), 50, 63);
        Assert.False(DomainName.TryEncode(new string('\u00FC', 70) + ".example", out _, out _));
    }
}
