using Millrace.Acme.Protocol;

namespace Millrace.Acme.Tests.Protocol;

public sealed class LinkHeaderTests
{
    private static readonly Uri From = new("https://ca.example/certificate/1");

    [Theory]
    [InlineData("<https://ca.example/2>;rel=\"alternate\"", "https://ca.example/2")]
    [InlineData("<https://ca.example/2>; title=x; REL=Alternate", "https://ca.example/2")]
    [InlineData("<2>;rel=\"up alternate\"", "https://ca.example/certificate/2")]
    [InlineData("<2>;rel=up, <3>;rel=alternate,<4> ; rel = \"alternate\"", "https://ca.example/certificate/3 https://ca.example/certificate/4")]
    [InlineData("<2>;title=\"a,<9>;rel=alternate;\\\"\";rel=alternate", "https://ca.example/certificate/2")]
    [InlineData("<2>;rel=alternate, <2>;rel=alternate", "https://ca.example/certificate/2")]
    [InlineData("<2>;rel=up;rel=alternate", "")]
    [InlineData("<2>", "")]
    [InlineData("<2>;", "")]
    [InlineData("<2>;rel", "")]
    [InlineData("<2>;rel=", "")]
    [InlineData("<2>;title=\"open, <3>;rel=alternate", "")]
    [InlineData("<2;rel=alternate", "")]
    [InlineData(">2<;rel=alternate", "")]
    [InlineData("<>;rel=alternate", "https://ca.example/certificate/1")]
    [InlineData("<http://[bad>;rel=alternate", "")]
    [InlineData("", "")]
    [InlineData(",;=\"\\", "")]
    public void Targets_are_those_of_the_relation(string field, string targets) =>
        Assert.Equal(targets, string.Join(' ', LinkHeader.Targets([field], "alternate", From)));

    [Fact]
    public void Fields_are_read_one_after_the_other() => Assert.Equal(
        [new Uri("https://ca.example/a"), new Uri("https://ca.example/b")],
        LinkHeader.Targets(["</a>;rel=alternate", "</x>;rel=index", "</b>;rel=alternate"], "alternate", From));
}
