namespace Millrace.Http.Tests;

/// <summary>RFC 9112 section 3.2: the four forms.</summary>
public class RequestTargetTests
{
    [Theory]
    [InlineData("/", "/", "")]
    [InlineData("/a/b?c=d", "/a/b", "?c=d")]
    [InlineData("/a?", "/a", "?")]
    [InlineData("/a?b?c/d", "/a", "?b?c/d")]
    [InlineData("//evil.example/x", "//evil.example/x", "")]
    [InlineData("/012345678901234567890123456789012345678901234567890?q", "/012345678901234567890123456789012345678901234567890", "?q")]
    public void Origin_form_is_path_and_query(string target, string path, string query)
    {
        (RequestHead head, byte[] bytes) = Heads.Complete($"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        Assert.Equal(TargetForm.Origin, head.Target.Form);
        Assert.Equal(target, head.Target.Text.Text(bytes));
        Assert.Equal(path, head.Target.Path.Text(bytes));
        Assert.Equal(query, head.Target.Query.Text(bytes));
        Assert.Equal("a", head.Authority.Text(bytes));
    }

    [Theory]
    [InlineData("http://b/c?d", "b", "/c", "?d")]
    [InlineData("HTTPS://b:8443/c", "b:8443", "/c", "")]
    [InlineData("http://b", "b", "", "")]
    [InlineData("http://b?q", "b", "", "?q")]
    [InlineData("http://b?q/r", "b", "", "?q/r")]
    [InlineData("http://[::1]:80/", "[::1]:80", "/", "")]
    public void The_authority_of_absolute_form_replaces_host(string target, string authority, string path, string query)
    {
        (RequestHead head, byte[] bytes) = Heads.Complete($"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        Assert.Equal(TargetForm.Absolute, head.Target.Form);
        Assert.Equal(authority, head.Authority.Text(bytes));
        Assert.Equal(path, head.Target.Path.Text(bytes));
        Assert.Equal(query, head.Target.Query.Text(bytes));
    }

    [Fact]
    public void Absolute_form_does_not_excuse_a_missing_or_bad_host()
    {
        Heads.IsRefused(HeadRefusal.MissingHost, "GET http://b/ HTTP/1.1\r\n\r\n");
        Heads.IsRefused(HeadRefusal.BadHost, "GET http://b/ HTTP/1.1\r\nHost: a b\r\n\r\n");
    }

    [Theory]
    [InlineData("http:///x")]
    [InlineData("http://:80/x")]
    [InlineData("http://user@b/")]
    [InlineData("http://b:x/")]
    [InlineData("ftp://b/")]
    [InlineData("http:/b/")]
    [InlineData("?x://b/")]
    [InlineData("://b/")]
    [InlineData("a")]
    [InlineData("a/b")]
    [InlineData("?")]
    public void A_target_that_is_no_http_uri_is_refused(string target)
        => Heads.IsRefused(HeadRefusal.BadTarget, $"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public void Asterisk_form_is_for_options_only()
    {
        Assert.Equal(TargetForm.Asterisk, Heads.Complete("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").Head.Target.Form);
        Heads.IsRefused(HeadRefusal.BadTarget, "GET * HTTP/1.1\r\nHost: a\r\n\r\n");
        Heads.IsRefused(HeadRefusal.BadTarget, "OPTIONS *x HTTP/1.1\r\nHost: a\r\n\r\n");
    }

    [Fact]
    public void Connect_takes_authority_form_with_a_port_and_nothing_else()
    {
        (RequestHead head, byte[] bytes) = Heads.Complete("CONNECT b:443 HTTP/1.1\r\nHost: a\r\n\r\n");
        Assert.Equal(TargetForm.Authority, head.Target.Form);
        Assert.Equal("b:443", head.Authority.Text(bytes));
        foreach (string target in new[] { "b", "b:", "/", "http://b/", "*", ":443", "[::1]" })
        {
            Heads.IsRefused(HeadRefusal.BadTarget, $"CONNECT {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        }
    }
}
