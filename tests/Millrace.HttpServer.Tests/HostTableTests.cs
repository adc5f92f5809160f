using System.Text;

namespace Millrace.HttpServer.Tests;

public class HostTableTests
{
    private static readonly string?[] Names =
        [null, "example.org", "*.example.org", "*.a.example.org", "absolute.example.", "[::1]", "fe80::1", "192.0.2.1"];

    [Theory]
    [InlineData("example.org", "example.org")]
    [InlineData("EXAMPLE.org:8080", "example.org")]
    [InlineData("example.org.", "example.org")]
    [InlineData("example.org.:80", "example.org")]
    [InlineData("www.example.org", "*.example.org")]
    [InlineData("b.a.example.org", "*.a.example.org")]
    [InlineData("a.example.org", "*.example.org")]
    [InlineData("notexample.org", null)]
    [InlineData(".example.org", null)]
    [InlineData("absolute.example", "absolute.example.")]
    [InlineData("absolute.example.:1", "absolute.example.")]
    [InlineData("[::1]", "[::1]")]
    [InlineData("[::1]:80", "[::1]")]
    [InlineData("[FE80::1]:80", "fe80::1")]
    [InlineData("192.0.2.1:80", "192.0.2.1")]
    [InlineData("", null)]
    [InlineData(":80", null)]
    [InlineData(".", null)]
    public void A_host_is_found_however_it_is_spelt(string authority, string? name)
    {
        // The table never looks into a site.
        var table = new HostTable([.. Names.Select(static host => (host, (Millrace.StaticFiles.Site)null!))]);

        Assert.Equal(Array.IndexOf(Names, name), table.Find(Encoding.ASCII.GetBytes(authority)));
    }
}
