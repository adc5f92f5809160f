using System.Text;
using Millrace.Server.Admin;

namespace Millrace.Server.Tests.Admin;

public class AllowedHostsTests
{
    private readonly AllowedHosts _hosts = new(["metrics.example.org"]);

    [Theory]
    [InlineData("localhost")]
    [InlineData("LOCALHOST:9180")]
    [InlineData("localhost.:9180")]
    [InlineData("mill.localhost:9180")]
    [InlineData("127.0.0.1:9180")]
    [InlineData("10.1.2.3:9180")]
    [InlineData("[::1]:9180")]
    [InlineData("[fe80::1]")]
    [InlineData("metrics.example.org")]
    [InlineData("Metrics.Example.org:9180")]
    [InlineData("")]
    public void Addresses_and_names_of_this_machine_are_allowed(string authority) => Assert.True(Allows(authority));

    [Theory]
    [InlineData("example.org")]
    [InlineData("example.org:9180")]
    [InlineData("localhost.example.org")]
    [InlineData("notlocalhost")]
    [InlineData("127.0.0.1.example.org")]
    [InlineData("1.2.3.example")]
    [InlineData("x.metrics.example.org")]
    [InlineData("127.0.0.1.nip.io:9180")]
    public void Names_of_others_are_not(string authority) => Assert.False(Allows(authority));

    private bool Allows(string authority) => _hosts.Allows(Encoding.ASCII.GetBytes(authority));
}
