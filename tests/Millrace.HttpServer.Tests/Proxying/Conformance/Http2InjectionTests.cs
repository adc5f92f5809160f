using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying.Conformance;

/// <summary>
/// What HTTP/2 can say and HTTP/1.1 cannot (RFC 9113, sections 8.1 to 8.3 and 10.3): it is refused, and no byte of it is a request of the
/// upstream's.
/// </summary>
public sealed class Http2InjectionTests : ProxyConformanceTest
{
    private const string Smuggled = "GET /api/smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

    private static readonly (string Name, string Value)[] Pseudo = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/api/a")];

    [Fact]
    public Task A_line_end_in_a_value_is_refused() => RefusedAsync([.. Pseudo, ("x-a", "1\r\nx-b: 2")]);

    [Fact]
    public Task A_whole_request_in_a_value_is_refused() => RefusedAsync([.. Pseudo, ("x-a", $"1\r\n\r\n{Smuggled}")]);

    [Fact]
    public Task A_line_feed_in_a_value_is_refused() => RefusedAsync([.. Pseudo, ("x-a", "1\nx-b: 2")]);

    [Fact]
    public Task A_carriage_return_in_a_value_is_refused() => RefusedAsync([.. Pseudo, ("x-a", "1\rx-b: 2")]);

    [Fact]
    public Task A_nul_in_a_value_is_refused() => RefusedAsync([.. Pseudo, ("x-a", "1\0")]);

    [Fact]
    public Task A_line_end_in_a_name_is_refused() => RefusedAsync([.. Pseudo, ("x-a: 1\r\nx-b", "2")]);

    [Fact]
    public Task A_line_end_in_front_of_a_name_is_refused() => RefusedAsync([.. Pseudo, ("\r\nx-a", "2")]);

    [Fact]
    public Task A_colon_in_a_name_is_refused() => RefusedAsync([.. Pseudo, ("transfer-encoding: chunked\r\nx", "1")]);

    [Fact]
    public Task A_name_with_a_colon_alone_is_refused() => RefusedAsync([.. Pseudo, ("x:y", "1")]);

    [Fact]
    public Task A_space_in_a_name_is_refused() => RefusedAsync([.. Pseudo, ("content-length ", "5")]);

    [Fact]
    public Task An_upper_case_name_is_refused() => RefusedAsync([.. Pseudo, ("X-A", "1")]);

    [Fact]
    public Task An_empty_name_is_refused() => RefusedAsync([.. Pseudo, ("", "1")]);

    [Fact]
    public Task White_space_around_a_value_is_refused() => RefusedAsync([.. Pseudo, ("x-a", " 1")]);

    [Fact]
    public Task A_space_in_the_path_is_refused() => RefusedAsync(With(":path", "/api/a HTTP/1.1"));

    [Fact]
    public Task A_request_in_the_path_is_refused() => RefusedAsync(With(":path", $"/api/a HTTP/1.1\r\nHost: a\r\n\r\n{Smuggled}"));

    [Fact]
    public Task A_path_that_is_none_is_refused() => RefusedAsync(With(":path", "api/a"));

    [Fact]
    public Task An_empty_path_is_refused() => RefusedAsync(With(":path", ""));

    [Fact]
    public Task An_absolute_path_is_refused() => RefusedAsync(With(":path", "http://a/api/a"));

    [Fact]
    public Task A_fragment_in_the_path_is_refused() => RefusedAsync(With(":path", "/api/a#b"));

    [Fact]
    public Task A_request_line_in_the_method_is_refused() => RefusedAsync(With(":method", "GET /api/smuggled HTTP/1.1\r\nHost: a\r\n\r\nGET"));

    [Fact]
    public Task A_space_in_the_method_is_refused() => RefusedAsync(With(":method", "GET /api/smuggled"));

    [Fact]
    public Task A_line_end_in_the_authority_is_refused() => RefusedAsync(With(":authority", "a\r\nx-b: 2"));

    [Fact]
    public Task A_path_in_the_authority_is_refused() => RefusedAsync(With(":authority", "a/b"));

    [Fact]
    public Task User_information_in_the_authority_is_refused() => RefusedAsync(With(":authority", "b@a"));

    [Fact]
    public Task Another_host_than_the_authority_is_refused() => RefusedAsync([.. Pseudo, ("host", "b")]);

    [Fact]
    public Task A_line_end_in_the_scheme_is_refused() => RefusedAsync(With(":scheme", "http\r\nx-b: 2"));

    [Fact]
    public Task A_pseudo_field_after_a_field_is_refused() =>
        RefusedAsync([Pseudo[0], Pseudo[1], Pseudo[2], ("x-a", "1"), Pseudo[3]]);

    [Fact]
    public Task Two_paths_are_refused() => RefusedAsync([.. Pseudo, (":path", "/api/b")]);

    [Fact]
    public Task Two_methods_are_refused() => RefusedAsync([(":method", "POST"), .. Pseudo]);

    [Fact]
    public Task Two_authorities_are_refused() => RefusedAsync([(":authority", "b"), .. Pseudo]);

    [Fact]
    public Task An_unknown_pseudo_field_is_refused() => RefusedAsync([.. Pseudo, (":other", "1")]);

    [Fact]
    public Task A_status_in_a_request_is_refused() => RefusedAsync([.. Pseudo, (":status", "200")]);

    [Fact]
    public Task A_transfer_encoding_is_refused() => RefusedAsync([.. With(":method", "POST"), ("transfer-encoding", "chunked")], "0\r\n\r\n" + Smuggled);

    [Fact]
    public Task A_transfer_encoding_beside_a_length_is_refused() =>
        RefusedAsync([.. With(":method", "POST"), ("content-length", "5"), ("transfer-encoding", "chunked")], "0\r\n\r\n");

    [Fact]
    public Task A_connection_field_is_refused() => RefusedAsync([.. Pseudo, ("connection", "content-length")]);

    [Fact]
    public Task An_upgrade_is_refused() => RefusedAsync([.. Pseudo, ("upgrade", "websocket")]);

    [Fact]
    public Task Keep_alive_is_refused() => RefusedAsync([.. Pseudo, ("keep-alive", "timeout=5")]);

    [Fact]
    public Task Another_te_than_trailers_is_refused() => RefusedAsync([.. Pseudo, ("te", "gzip")]);

    [Fact]
    public Task A_length_below_the_data_is_refused() => RefusedAsync([.. With(":method", "POST"), ("content-length", "3")], "hello");

    [Fact]
    public Task A_length_of_zero_before_a_request_is_refused() => RefusedAsync([.. With(":method", "POST"), ("content-length", "0")], Smuggled);

    [Fact]
    public Task A_length_above_the_data_is_refused() => RefusedAsync([.. With(":method", "POST"), ("content-length", "9")], "hello");

    [Fact]
    public Task A_length_without_data_is_refused() => RefusedAsync([.. With(":method", "POST"), ("content-length", "9")]);

    [Fact]
    public Task Two_lengths_are_refused() => RefusedAsync([.. With(":method", "POST"), ("content-length", "5"), ("content-length", "6")], "hello");

    [Fact]
    public Task A_signed_length_is_refused() => RefusedAsync([.. With(":method", "POST"), ("content-length", "+5")], "hello");

    [Fact]
    public Task A_list_of_lengths_is_refused() => RefusedAsync([.. With(":method", "POST"), ("content-length", "5, 5")], "hello");

    [Fact]
    public Task A_connect_is_refused() => RefusedAsync([(":method", "CONNECT"), (":authority", "a:80")]);

    [Fact]
    public Task Trailers_with_a_pseudo_field_are_refused() => RefusedAsync(
        With(":method", "POST"), "hello", trailers: [(":path", "/api/smuggled")]);

    [Fact]
    public Task Trailers_with_a_line_end_are_refused() => RefusedAsync(
        With(":method", "POST"), "hello", trailers: [("x-a", $"1\r\n\r\n{Smuggled}")]);

    [Fact]
    public Task Trailers_with_an_upper_case_name_are_refused() => RefusedAsync(With(":method", "POST"), "hello", trailers: [("X-A", "1")]);

    /// <summary>A request that is good, so that the others are refused for what is wrong with them.</summary>
    [Fact]
    public Task Chunks_in_data_are_content() => ForwardedAsync(
        [.. With(":method", "POST"), ("x-a", "1")],
        $"0\r\n\r\n{Smuggled}",
        $"POST /api/a HTTP/1.1\r\nHost: a\r\nx-a: 1\r\nTransfer-Encoding: chunked\r\n\r\n2c\r\n0\r\n\r\n{Smuggled}\r\n0\r\n\r\n");

    [Fact]
    public Task A_length_that_is_right_is_passed_on() => ForwardedAsync(
        [.. With(":method", "POST"), ("content-length", "5")],
        "hello",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task Cookies_in_pieces_become_one() => ForwardedAsync(
        [.. Pseudo, ("cookie", "a=1"), ("x-a", "1"), ("cookie", "b=2")],
        body: null,
        "GET /api/a HTTP/1.1\r\nHost: a\r\nx-a: 1\r\ncookie: a=1; b=2\r\n\r\n");

    private static (string Name, string Value)[] With(string name, string value) =>
        [.. Pseudo.Select(field => field.Name == name ? (name, value) : field)];

    /// <summary>The stream is reset, or answered by the server, and nothing of the request is whole at the upstream.</summary>
    private Task RefusedAsync((string Name, string Value)[] fields, string? body = null, (string Name, string Value)[]? trailers = null) =>
        WithUpstreamAsync(async (site, upstream) =>
        {
            Http2Wire client = await Http2Wire.OpenAsync(site);
            await SendAsync(client, fields, body, trailers);
            Exchange exchange = await client.ReadAsync(1).WaitAsync(Deadline);
            Outcome outcome = OutcomeOf(exchange);
            Assert.True(exchange.Reset == Http2Error.ProtocolError || outcome.Status is >= 400 and < 600, outcome.ToString());
            Assert.DoesNotContain("x-answer", outcome.Head, StringComparison.OrdinalIgnoreCase);
            await AssertNextIsOwnAsync(site, isHttp2: true);
            Assert.StartsWith("GET /api/canary HTTP/1.1\r\n", Assert.Single(upstream.Requests), StringComparison.Ordinal);
        });

    private Task ForwardedAsync((string Name, string Value)[] fields, string? body, string expected) =>
        WithUpstreamAsync(async (site, upstream) =>
        {
            Http2Wire client = await Http2Wire.OpenAsync(site);
            await SendAsync(client, fields, body, trailers: null);
            Response response = await client.ReadResponseAsync(1).WaitAsync(Deadline);
            Assert.Equal((200, "/api/a"), (response.Status, response.Text));
            Assert.Equal([expected], upstream.Requests);
            await AssertOnlyCanaryAsync(site, upstream, expected);
        });

    private static async Task SendAsync(
        Http2Wire client, (string Name, string Value)[] fields, string? body, (string Name, string Value)[]? trailers)
    {
        FrameFlags last = FrameFlags.EndHeaders | FrameFlags.EndStream;
        await client.SendAsync(Frame.Headers(1, Block.Of(fields), body is null ? last : FrameFlags.EndHeaders));
        if (body is not null)
        {
            await client.SendAsync(Frame.Data(1, Encoding.Latin1.GetBytes(body), trailers is null ? FrameFlags.EndStream : FrameFlags.None));
        }

        if (trailers is not null)
        {
            await client.SendAsync(Frame.Headers(1, Block.Of(trailers), last));
        }
    }
}
