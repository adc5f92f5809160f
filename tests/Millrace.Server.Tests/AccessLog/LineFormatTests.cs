using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using Millrace.Server.AccessLog;
using HttpExchange = Millrace.HttpServer.Exchanges.HttpExchange;

namespace Millrace.Server.Tests.AccessLog;

public partial class LineFormatTests
{
    private const string Plain = "GET /a?b=c HTTP/1.1\r\nHost: example.org\r\nReferer: http://r/\r\nUser-Agent: curl/8.0\r\n\r\n";

    [Fact]
    public void The_combined_format_is_what_others_write()
    {
        string line = MadeExchange.LineOf(AccessLogFormat.Combined, MadeExchange.Of(MadeExchange.Bytes(Plain), 404, 17));

        Match match = Combined().Match(line);
        Assert.True(match.Success, line);
        Assert.Equal("192.0.2.1", match.Groups["client"].Value);
        Assert.Equal("GET /a?b=c HTTP/1.1", match.Groups["request"].Value);
        Assert.Equal(("404", "17"), (match.Groups["status"].Value, match.Groups["bytes"].Value));
        Assert.Equal(("http://r/", "curl/8.0"), (match.Groups["referer"].Value, match.Groups["agent"].Value));
        DateTimeOffset time = DateTimeOffset.ParseExact(
            match.Groups["time"].Value, "dd/MMM/yyyy:HH:mm:ss zzz", System.Globalization.CultureInfo.InvariantCulture);
        Assert.InRange(time, DateTimeOffset.UtcNow.AddMinutes(-5), DateTimeOffset.UtcNow);
    }

    [Fact]
    public void The_common_format_ends_with_the_bytes()
    {
        HttpExchange exchange = MadeExchange.Of(MadeExchange.Bytes(Plain), 200, 17);
        string combined = MadeExchange.LineOf(AccessLogFormat.Combined, exchange);
        string common = MadeExchange.LineOf(AccessLogFormat.Common, exchange);

        Assert.Equal($"{common} \"http://r/\" \"curl/8.0\"", combined);
        Assert.EndsWith("\" 200 17", common, StringComparison.Ordinal);
    }

    [Fact]
    public void What_was_not_said_is_a_dash_or_null()
    {
        HttpExchange exchange = MadeExchange.Of(MadeExchange.Bytes("GET / HTTP/1.0\r\n\r\n"), peer: "");

        string combined = MadeExchange.LineOf(AccessLogFormat.Combined, exchange);
        using var json = JsonDocument.Parse(MadeExchange.LineOf(AccessLogFormat.Json, exchange));

        Assert.StartsWith("- - - [", combined, StringComparison.Ordinal);
        Assert.EndsWith("\"GET / HTTP/1.0\" 200 0 \"-\" \"-\"", combined, StringComparison.Ordinal);
        foreach (string member in (string[])["client", "host", "referer", "user_agent", "tls_version", "tls_cipher", "tls_group"])
        {
            Assert.Equal(JsonValueKind.Null, json.RootElement.GetProperty(member).ValueKind);
        }
    }

    [Fact]
    public void An_object_has_all_that_is_known()
    {
        using var json = JsonDocument.Parse(MadeExchange.LineOf(AccessLogFormat.Json, MadeExchange.Of(MadeExchange.Bytes(Plain), 200, 17)));

        JsonElement root = json.RootElement;
        Assert.Equal("192.0.2.1", root.GetProperty("client").GetString());
        Assert.Equal(("GET", "/a?b=c", "HTTP/1.1"), (Text("method"), Text("target"), Text("protocol")));
        Assert.Equal(("example.org", "http://r/", "curl/8.0"), (Text("host"), Text("referer"), Text("user_agent")));
        Assert.Equal(("identity", "text"), (Text("encoding"), Text("body")));
        Assert.Equal((200, 17, true), (root.GetProperty("status").GetInt32(), root.GetProperty("bytes").GetInt64(), root.GetProperty("complete").GetBoolean()));
        Assert.True(root.GetProperty("duration_ms").GetDouble() >= 0);
        Assert.InRange(root.GetProperty("time").GetDateTime(), DateTime.UtcNow.AddMinutes(-5), DateTime.UtcNow);

        string? Text(string member) => root.GetProperty(member).GetString();
    }

    [Theory]
    [InlineData("2001:db8::1", "[2001:db8::1]:80")]
    [InlineData("10.1.2.3", "10.1.2.3:80")]
    public void Addresses_of_both_kinds_are_written(string shown, string peer)
    {
        HttpExchange exchange = MadeExchange.Of(MadeExchange.Bytes(Plain), peer: peer);
        Assert.StartsWith(shown + " - - [", MadeExchange.LineOf(AccessLogFormat.Common, exchange), StringComparison.Ordinal);
        Assert.Contains($"\"client\":\"{shown}\",", MadeExchange.LineOf(AccessLogFormat.Json, exchange), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("a\" 200 1 \"evil", "a\\x22 200 1 \\x22evil")]
    [InlineData("back\\slash", "back\\x5Cslash")]
    [InlineData("tab\there", "tab\\x09here")]
    [InlineData("caf\u00e9", "caf\\xE9")]
    public void Nobody_writes_more_than_a_text_into_a_line(string agent, string shown)
    {
        byte[] head = MadeExchange.Bytes($"GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: {agent}\r\n\r\n");
        string line = MadeExchange.LineOf(AccessLogFormat.Combined, MadeExchange.Of(head));
        Assert.EndsWith($"\"-\" \"{shown}\"", line, StringComparison.Ordinal);
        Assert.Matches(Combined(), line);
    }

    [Fact]
    public void Characters_are_kept_in_json_and_what_is_none_is_replaced()
    {
        byte[] head = [.. "GET / HTTP/1.1\r\nHost: a\r\nUser-Agent: "u8, .. Encoding.UTF8.GetBytes("caf\u00e9 \u6f22 \U0001F600 \u0085 \u2028"), 0xE9, 0xFF, .. "\"\\\r\n\r\n"u8];
        using var json = JsonDocument.Parse(Encoding.Latin1.GetBytes(MadeExchange.LineOf(AccessLogFormat.Json, MadeExchange.Of(head))));
        string text = json.RootElement.GetProperty("user_agent").GetString()!;
        Assert.Equal("caf\u00e9 \u6f22 \U0001F600 \u0085 \u2028\ufffd\ufffd\"\\", text);
    }

    [Fact]
    public void Whatever_bytes_come_a_line_is_one_line_and_json_is_json()
    {
#pragma warning disable CA5394 // Not for secrets: the bytes have to be the same in every run.
        var random = new Random(7);
        for (int i = 0; i < 2_000; i++)
        {
            byte[] garbage = new byte[random.Next(1, 200)];
            random.NextBytes(garbage);
            byte[] head = (i % 3) switch
            {
                0 => [.. garbage, .. "\r\n\r\n"u8],
                1 => [.. "GET /"u8, .. garbage, .. " HTTP/1.1\r\nHost: a\r\n\r\n"u8],
                _ => [.. "GET / HTTP/1.1\r\nHost: a\r\nReferer: "u8, .. garbage, .. "\r\nUser-Agent: "u8, .. garbage, .. "\r\n\r\n"u8],
            };
            HttpExchange exchange = MadeExchange.Of(head);
            string json = MadeExchange.LineOf(AccessLogFormat.Json, exchange);
            using var parsed = JsonDocument.Parse(Encoding.Latin1.GetBytes(json));
            Assert.DoesNotContain(json, static character => character < ' ');
            string combined = MadeExchange.LineOf(AccessLogFormat.Combined, exchange);
            Assert.True(combined.All(static character => character is >= ' ' and <= '~'), combined);
            Assert.Equal(6, combined.Count(static character => character == '"'));
        }
#pragma warning restore CA5394
    }

    [Fact]
    public void A_request_without_a_line_is_shown_as_it_came()
    {
        HttpExchange exchange = MadeExchange.Of(MadeExchange.Bytes("\x16\x03\x01\r\n"), 400);
        Assert.Contains("] \"\\x16\\x03\\x01\" 400 0", MadeExchange.LineOf(AccessLogFormat.Common, exchange), StringComparison.Ordinal);
        using var json = JsonDocument.Parse(MadeExchange.LineOf(AccessLogFormat.Json, exchange));
        Assert.Equal("\x16\x03\x01", json.RootElement.GetProperty("malformed").GetString());
    }

    [GeneratedRegex("""
        ^(?<client>\S+) - - \[(?<time>[^\]]+)\] "(?<request>[^"]*)" (?<status>\d{3}) (?<bytes>\d+) "(?<referer>[^"]*)" "(?<agent>[^"]*)"$
        """)]
    private static partial Regex Combined();
}
