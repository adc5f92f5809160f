using System.Net;
using System.Net.Sockets;
using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Clients;
using Millrace.HttpServer.Exchanges;

namespace Millrace.HttpServer.Tests.Clients;

/// <summary>Whose request it was: the rightmost address that no trusted proxy has.</summary>
public class ClientFinderTests
{
    private static readonly ClientOptions Trusting = new()
    {
        Trusted = [IPNetwork.Parse("10.0.0.0/8"), IPNetwork.Parse("2001:db8::/32")],
    };

    [Theory]
    [InlineData("192.0.2.9:1", "1.2.3.4", "192.0.2.9")]
    [InlineData("10.0.0.1:1", "1.2.3.4", "1.2.3.4")]
    [InlineData("[2001:db8::1]:1", "1.2.3.4", "1.2.3.4")]
    [InlineData("10.0.0.1:1", "", "10.0.0.1")]
    [InlineData("10.0.0.1:1", "9.9.9.9, 1.2.3.4", "1.2.3.4")]
    [InlineData("10.0.0.1:1", "9.9.9.9, 1.2.3.4, 10.0.0.2", "1.2.3.4")]
    [InlineData("10.0.0.1:1", "10.0.0.3,10.0.0.2", "10.0.0.3")]
    [InlineData("10.0.0.1:1", "9.9.9.9, unknown", "10.0.0.1")]
    [InlineData("10.0.0.1:1", "9.9.9.9, unknown, 10.0.0.2", "10.0.0.2")]
    [InlineData("10.0.0.1:1", "9.9.9.9, 1", "10.0.0.1")]
    [InlineData("10.0.0.1:1", "1.2.3.4:5678", "1.2.3.4")]
    [InlineData("10.0.0.1:1", "[2001:470::1]:5678", "2001:470::1")]
    [InlineData("10.0.0.1:1", "2001:470::1", "2001:470::1")]
    [InlineData("10.0.0.1:1", "::ffff:1.2.3.4", "1.2.3.4")]
    [InlineData("10.0.0.1:1", ",,", "10.0.0.1")]
    public void X_forwarded_for_is_read_from_its_end(string peer, string list, string client) =>
        Assert.Equal(client, Find(Trusting, peer, list.Length > 0 ? $"X-Forwarded-For: {list}" : ""));

    [Theory]
    [InlineData("for=1.2.3.4", "1.2.3.4")]
    [InlineData("For=\"[2001:470::1]:80\";proto=https", "2001:470::1")]
    [InlineData("for=9.9.9.9, proto=http;for=1.2.3.4;by=10.0.0.1, for=10.0.0.2", "1.2.3.4")]
    [InlineData("for=9.9.9.9;host=\"a,b\", for=_hidden", "10.0.0.1")]
    [InlineData("for=\"9.9.9.9, for=1.2.3.4", "10.0.0.1")]
    [InlineData("proto=http", "10.0.0.1")]
    public void Forwarded_is_read_from_its_end_where_it_is_asked_for(string list, string client) =>
        Assert.Equal(client, Find(Trusting with { Field = ClientField.Forwarded }, "10.0.0.1:1", $"Forwarded: {list}"));

    [Theory]
    [InlineData("10.0.0.1:1", "X-Forwarded-Proto: http", "Http")]
    [InlineData("10.0.0.1:1", "X-Forwarded-Proto: https", "Https")]
    [InlineData("10.0.0.1:1", "x-forwarded-proto: HTTPS", "Https")]
    [InlineData("10.0.0.1:1", "X-Forwarded-Proto: https, http", "Http")]
    [InlineData("10.0.0.1:1", "X-Forwarded-Proto: https\r\nX-Forwarded-Proto: http", "Http")]
    [InlineData("10.0.0.1:1", "X-Forwarded-Proto: ws", "Http")]
    [InlineData("10.0.0.1:1", "X-Forwarded-Proto:", "Unknown")]
    [InlineData("10.0.0.1:1", "", "Unknown")]
    [InlineData("10.0.0.1:1", "Forwarded: for=1.2.3.4;proto=http", "Unknown")]
    [InlineData("192.0.2.9:1", "X-Forwarded-Proto: https", "Unknown")]
    public void The_clients_scheme_is_what_a_trusted_proxy_says(string peer, string field, string scheme) =>
        Assert.Equal(scheme, SchemeOf(Trusting, peer, field));

    [Theory]
    [InlineData("for=1.2.3.4;proto=http", "Http")]
    [InlineData("for=1.2.3.4;Proto=\"https\"", "Https")]
    [InlineData("for=9.9.9.9;proto=https, for=1.2.3.4;proto=http", "Http")]
    [InlineData("for=1.2.3.4;proto=https, for=10.0.0.2;proto=http", "Https")]
    [InlineData("for=1.2.3.4;proto=http, for=10.0.0.2;proto=https", "Http")]
    [InlineData("for=9.9.9.9;proto=https, for=unknown;proto=http", "Http")]
    [InlineData("for=9.9.9.9;proto=https, for=1.2.3.4", "Unknown")]
    [InlineData("proto=https", "Https")]
    public void In_forwarded_the_scheme_is_that_of_the_clients_element(string list, string scheme)
    {
        Assert.Equal(scheme, SchemeOf(Trusting with { Field = ClientField.Forwarded }, "10.0.0.1:1", $"Forwarded: {list}"));
        Assert.Equal("Unknown", SchemeOf(Trusting with { Field = ClientField.None }, "10.0.0.1:1", $"Forwarded: {list}"));
    }

    [Fact]
    public void A_field_that_the_proxy_does_not_write_is_not_believed()
    {
        Assert.Equal("10.0.0.1", Find(Trusting, "10.0.0.1:1", "Forwarded: for=1.2.3.4"));
        Assert.Equal("10.0.0.1", Find(Trusting with { Field = ClientField.Forwarded }, "10.0.0.1:1", "X-Forwarded-For: 1.2.3.4"));
        Assert.Equal("10.0.0.1", Find(Trusting with { Field = ClientField.None }, "10.0.0.1:1", "X-Forwarded-For: 1.2.3.4"));
    }

    [Fact]
    public void Several_lines_are_one_list()
    {
        Assert.Equal("1.2.3.4", Find(Trusting, "10.0.0.1:1", "X-Forwarded-For: 9.9.9.9, 1.2.3.4\r\nX-Forwarded-For: 10.0.0.2"));
        Assert.Equal("1.2.3.4", Find(Trusting, "10.0.0.1:1", "X-Forwarded-For: 9.9.9.9\r\nA: b\r\nX-Forwarded-For: 1.2.3.4"));
        Assert.Equal(
            "1.2.3.4",
            Find(Trusting with { Field = ClientField.Forwarded }, "10.0.0.1:1", "Forwarded: for=9.9.9.9\r\nForwarded: for=1.2.3.4"));
    }

    [Fact]
    public void A_unix_socket_has_a_client_only_if_its_proxies_are_trusted()
    {
        var peer = new UnixDomainSocketEndPoint("/run/m.sock");
        Assert.Null(Find(Trusting, peer, "X-Forwarded-For: 1.2.3.4"));
        Assert.Equal("1.2.3.4", Find(new ClientOptions { TrustsUnix = true }, peer, "X-Forwarded-For: 1.2.3.4"));
        Assert.Null(Find(new ClientOptions { TrustsUnix = true }, peer, ""));
    }

    [Fact]
    public void An_address_that_nobody_reports_is_not_copied()
    {
        var peer = IPEndPoint.Parse("192.0.2.9:1");
        Assert.Same(peer.Address, ClientFinder.Direct.Of(peer, new RequestHead(), default));
    }

    private static string SchemeOf(ClientOptions options, string peer, string field)
    {
        string line = field.Length > 0 ? $"{field}\r\n" : "";
        byte[] bytes = Encoding.ASCII.GetBytes($"GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n");
        var head = new RequestHead();
        Assert.True(RequestHeadParser.Parse(bytes, head, HeadLimits.Default).IsComplete);
        return new ClientFinder(options).SchemeOf(IPEndPoint.Parse(peer), head, bytes).ToString();
    }

    private static string? Find(ClientOptions options, string peer, string field) => Find(options, IPEndPoint.Parse(peer), field);

    /// <summary>The client of a request when it is planned, which is the one of its record.</summary>
    private static string? Find(ClientOptions options, EndPoint peer, string field)
    {
        string line = field.Length > 0 ? $"{field}\r\n" : "";
        byte[] bytes = Encoding.ASCII.GetBytes($"GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n");
        var head = new RequestHead();
        Assert.True(RequestHeadParser.Parse(bytes, head, HeadLimits.Default).IsComplete);
        var exchange = new HttpExchange();
        exchange.Begin(peer);
        exchange.Take(head, bytes, isRefused: false);

        var clients = new ClientFinder(options);
        IPAddress? client = clients.Of(peer, head, bytes);
        Assert.Equal(clients.Of(exchange), client);
        return client?.ToString();
    }
}
