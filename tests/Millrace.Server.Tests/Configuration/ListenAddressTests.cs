using System.Net;
using System.Net.Sockets;
using Millrace.StaticFiles;

namespace Millrace.Server.Tests.Configuration;

public class ListenAddressTests
{
    [Theory]
    [InlineData("127.0.0.1:8080", "127.0.0.1:8080")]
    [InlineData("localhost:8080", "127.0.0.1:8080")]
    [InlineData("LocalHost:8080", "127.0.0.1:8080")]
    [InlineData("0.0.0.0:1", "0.0.0.0:1")]
    [InlineData("[::1]:65535", "[::1]:65535")]
    [InlineData("[2001:db8::1]:0", "[2001:db8::1]:0")]
    public void An_address_is_read(string text, string expected) => Assert.Equal(IPEndPoint.Parse(expected), ListenAddress.Parse(text));

    [Theory]
    [InlineData("8080")]
    [InlineData(":8080")]
    public void A_port_alone_is_all_interfaces(string text) =>
        Assert.Equal(new IPEndPoint(Socket.OSSupportsIPv6 ? IPAddress.IPv6Any : IPAddress.Any, 8080), ListenAddress.Parse(text));

    [Theory]
    [InlineData("127.1:80", "'127.1' is not a complete IP address")]
    [InlineData("1.2.3:80", "'1.2.3' is not a complete IP address")]
    [InlineData("127.0.0.01:80", "'127.0.0.01' is not a valid IP address")]
    [InlineData("0x7f.0.0.1:80", "'0x7f.0.0.1' is not a complete IP address")]
    [InlineData("1:80", "'1' is not a complete IP address")]
    [InlineData("example.org:80", "names other than localhost are not looked up")]
    [InlineData("::1:80", "an IPv6 address needs brackets")]
    [InlineData("[127.0.0.1]:80", "brackets are for IPv6")]
    [InlineData("127.0.0.1", "its port is missing")]
    [InlineData("[::1]", "its port is missing")]
    [InlineData("localhost", "it is neither a port from 0 to 65535 nor an address with a port")]
    [InlineData("127.0.0.1:65536", "its port must be a number from 0 to 65535")]
    [InlineData("127.0.0.1:http", "its port must be a number from 0 to 65535")]
    [InlineData("", "it is neither a port from 0 to 65535 nor an address with a port")]
    [InlineData("unix:", "the path is missing")]
    public void Another_is_refused_with_the_reason_and_the_forms(string text, string reason)
    {
        SiteException refusal = Assert.Throws<SiteException>(() => ListenAddress.Parse(text));
        Assert.StartsWith($"'{text}' is not a valid address: ", refusal.Cause, StringComparison.Ordinal);
        Assert.Contains(reason, refusal.Cause, StringComparison.Ordinal);
        Assert.Equal($"Use {ListenAddress.Forms}.", refusal.Remedy);
    }
}
