namespace Millrace.Http.Tests;

/// <summary>RFC 9112 section 3.2, RFC 9110 section 7.2, RFC 3986 section 3.2.2.</summary>
public class HostTests
{
    [Fact]
    public void A_request_of_http_1_1_without_host_is_refused()
        => Heads.IsRefused(HeadRefusal.MissingHost, "GET / HTTP/1.1\r\nAccept: */*\r\n\r\n");

    [Fact]
    public void A_request_of_http_1_0_needs_no_host()
        => Assert.True(Heads.Complete("GET / HTTP/1.0\r\n\r\n").Head.Authority.IsEmpty);

    [Theory]
    [InlineData("1.0")]
    [InlineData("1.1")]
    public void A_repeated_host_is_refused_even_if_equal(string version)
        => Heads.IsRefused(HeadRefusal.RepeatedHost, $"GET / HTTP/{version}\r\nHost: a\r\nHost: a\r\n\r\n");

    [Theory]
    [InlineData("")]
    [InlineData("a")]
    [InlineData("a.example.org.")]
    [InlineData("a:")]
    [InlineData("a:80")]
    [InlineData("127.0.0.1:8080")]
    [InlineData("a_b~!$&'()*+,;=-")]
    [InlineData("%41%2e%ff:1")]
    [InlineData("[::1]")]
    [InlineData("[::ffff:1.2.3.4]:80")]
    [InlineData("[v1f.a:b!]")]
    [InlineData("a:0000000080")]
    [InlineData("a:65535")]
    [InlineData(":80")]
    [InlineData("a_b.example.org.:8080")]
    public void A_host_with_or_without_a_port_is_taken(string host)
    {
        (RequestHead head, byte[] bytes) = Heads.Complete($"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        Assert.Equal(host, head.Authority.Text(bytes));
    }

    [Theory]
    [InlineData("a b")]
    [InlineData("a/b")]
    [InlineData("a@b")]
    [InlineData("http://a")]
    [InlineData("a:b")]
    [InlineData("a:80:80")]
    [InlineData("a:-1")]
    [InlineData("a?b")]
    [InlineData("a#b")]
    [InlineData("a\\b")]
    [InlineData("\"a\"")]
    [InlineData("\xE9")]
    [InlineData("%4")]
    [InlineData("%4g")]
    [InlineData("a%")]
    [InlineData("::1")]
    [InlineData("[::1")]
    [InlineData("[]")]
    [InlineData("[::1]x")]
    [InlineData("x[::1]")]
    [InlineData("[1.2.3.4]")]
    [InlineData("[:::1]")]
    [InlineData("[::1%25eth0]")]
    [InlineData("[v.a]")]
    [InlineData("[v1.]")]
    [InlineData("[v1.a/b]")]
    [InlineData("[vg.a]")]
    [InlineData("a:65536")]
    [InlineData("a:99999")]
    [InlineData("[::1]:99999")]
    [InlineData("a:18446744073709551696")]
    [InlineData(".")]
    [InlineData("..")]
    [InlineData("..a")]
    [InlineData(".a")]
    [InlineData("a..b")]
    [InlineData("a..")]
    [InlineData(".:80")]
    public void A_bad_host_is_refused_in_both_versions(string host)
    {
        Heads.IsRefused(HeadRefusal.BadHost, $"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        Heads.IsRefused(HeadRefusal.BadHost, $"GET / HTTP/1.0\r\nHost: {host}\r\n\r\n");
    }

    // RFC 1035 section 2.3.4.
    [Fact]
    public void A_name_is_one_that_dns_can_hold()
    {
        string label = new('a', 63);
        string name = $"{label}.{label}.{label}.{new string('a', 61)}";
        Assert.Equal(253, name.Length);
        foreach (string host in (string[])[label, name, name + ".", name + ".:80"])
        {
            (RequestHead head, byte[] bytes) = Heads.Complete($"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
            Assert.Equal(host, head.Authority.Text(bytes));
        }

        foreach (string host in (string[])[label + "a", $"{label}a.example", $"example.{label}a", name + "a", name + "a."])
        {
            Heads.IsRefused(HeadRefusal.BadHost, $"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        }
    }
}
