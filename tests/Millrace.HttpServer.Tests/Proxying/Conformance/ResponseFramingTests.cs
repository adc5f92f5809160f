using System.Text;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests.Proxying.Conformance;

/// <summary>
/// What an upstream may send and what clients get of it (RFC 9112, sections 4 to 8 and 11.2), each over both protocols: a response that
/// could be read in two ways is a 502, one that does not end as it says does not look whole, and nothing of it is in the next response.
/// </summary>
public sealed class ResponseFramingTests : ProxyConformanceTest
{
    [Fact]
    public Task Two_different_lengths_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!");

    [Fact]
    public Task Two_equal_lengths_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_list_of_lengths_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello");

    [Fact]
    public Task A_signed_length_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello");

    [Fact]
    public Task A_negative_length_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello");

    [Fact]
    public Task A_hexadecimal_length_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello");

    [Fact]
    public Task An_empty_length_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello");

    [Fact]
    public Task A_length_beyond_64_bits_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551621\r\n\r\nhello");

    [Fact]
    public Task A_length_beside_chunks_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task Chunks_beside_a_length_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task Chunked_twice_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task Chunked_in_two_lines_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task Chunked_before_another_coding_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, identity\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_coding_that_ends_in_chunked_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task An_unknown_coding_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello");

    [Fact]
    public Task A_coding_before_chunked_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_coding_after_a_vertical_tab_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: \vchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task An_obs_fold_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_bare_lf_after_the_status_line_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_bare_lf_after_a_field_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_bare_cr_in_a_value_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nX-A: 1\rX-B: 2\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_nul_in_a_value_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nX-A: 1\0\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_space_before_the_colon_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello");

    [Fact]
    public Task A_line_without_a_colon_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_name_with_a_space_in_it_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nX A: 1\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_field_without_a_name_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\n: 1\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_status_of_two_digits_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 20 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_status_of_four_digits_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 2000 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_status_below_100_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 099 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task Two_spaces_before_the_status_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1  200 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_response_of_http_2_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_response_of_another_protocol_is_a_bad_gateway() => BadGatewayAsync(
        "ICY 200 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_response_without_a_status_line_is_a_bad_gateway() => BadGatewayAsync(
        "Content-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_space_before_the_status_line_is_a_bad_gateway() => BadGatewayAsync(
        " HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_switch_of_protocols_that_nobody_asked_for_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");

    [Fact]
    public Task An_end_without_a_byte_is_a_bad_gateway() => BadGatewayAsync(
        "", closes: true);

    [Fact]
    public Task An_end_within_the_status_line_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 2", closes: true);

    [Fact]
    public Task An_end_within_the_head_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", closes: true);

    [Fact]
    public Task An_end_after_an_interim_response_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 103 Early Hints\r\n\r\n", closes: true);

    [Fact]
    public Task Chunks_over_http_1_0_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", closes: true);

    // What is wrong within a body, and after a head that is good.

    [Fact]
    public Task A_chunk_size_beyond_64_bits_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_signed_chunk_size_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_size_with_a_prefix_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_size_that_is_no_number_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_bare_lf_after_a_chunk_size_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_longer_than_its_size_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_shorter_than_its_size_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_bare_lf_after_a_chunk_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n");

    [Fact]
    public Task A_bare_lf_in_a_chunk_extension_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_folded_trailer_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-A: 1\r\n 2\r\n\r\n");

    [Fact]
    public Task A_trailer_with_a_bare_lf_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-A: 1\nX-B: 2\r\n\r\n");

    [Fact]
    public Task An_end_within_a_length_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello", closes: true);

    [Fact]
    public Task An_end_before_a_length_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", closes: true);

    [Fact]
    public Task An_end_within_a_chunk_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhello", closes: true);

    [Fact]
    public Task An_end_without_a_last_chunk_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", closes: true);

    [Fact]
    public Task An_end_without_the_last_crlf_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", closes: true);

    [Fact]
    public Task An_end_within_the_trailers_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-A: 1\r\n", closes: true);

    // What is passed on, and what follows it.

    [Fact]
    public Task A_body_with_a_length_is_passed_on() => PassedAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");

    [Fact]
    public Task A_body_in_chunks_is_passed_on() => PassedAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=\"y\"\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 200, "hello");

    [Fact]
    public Task A_body_that_ends_with_the_connection_is_passed_on() => PassedAsync(
        "HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nhello", 200, "hello", closes: true);

    [Fact]
    public Task A_body_of_http_1_0_that_ends_with_the_connection_is_passed_on() => PassedAsync(
        "HTTP/1.0 200 OK\r\n\r\nhello", 200, "hello", closes: true);

    [Fact]
    public Task A_response_without_a_reason_is_passed_on() => PassedAsync(
        "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello", 200, "hello");

    [Fact]
    public Task An_unknown_status_is_passed_on() => PassedAsync(
        "HTTP/1.1 599 Own\r\nContent-Length: 5\r\n\r\nhello", 599, "hello");

    [Fact]
    public Task Interim_responses_come_before_the_final_one() => PassedAsync(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");

    [Fact]
    public Task A_whole_response_after_a_length_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nX-Answer: foreign\r\nContent-Length: 7\r\n\r\nforeign", 200, "hello");

    [Fact]
    public Task Surplus_bytes_after_a_length_are_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloforeign", 200, "hello");

    [Fact]
    public Task A_whole_response_after_the_last_chunk_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nX-Answer: foreign\r\nContent-Length: 7\r\n\r\nforeign", 200, "hello");

    // RFC 9110, section 8.6: a 204 has no Content-Length.

    [Fact]
    public Task A_204_with_a_body_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_whole_response_after_a_204_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\nX-Answer: foreign\r\nContent-Length: 7\r\n\r\nforeign", 204, "");

    [Fact]
    public Task A_body_of_a_304_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello", 304, "");

    [Fact]
    public Task Chunks_of_a_304_are_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 304, "");

    [Fact]
    public Task A_body_for_head_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "", method: "HEAD");

    [Fact]
    public Task A_whole_response_after_one_for_head_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nX-Answer: foreign\r\nContent-Length: 7\r\n\r\nforeign", 200, "", method: "HEAD");

    [Fact]
    public Task Chunks_for_head_are_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, "", method: "HEAD");

    [Fact]
    public Task Hop_by_hop_fields_are_removed() => PassedAsync(
        "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nProxy-Connection: keep-alive\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nhello",
        200,
        "hello",
        check: static outcome =>
        {
            Assert.DoesNotContain("\nKeep-Alive:", outcome.Head, StringComparison.OrdinalIgnoreCase);
            Assert.DoesNotContain("\nProxy-Authenticate:", outcome.Head, StringComparison.OrdinalIgnoreCase);
            Assert.DoesNotContain("\nProxy-Connection:", outcome.Head, StringComparison.OrdinalIgnoreCase);
            Assert.DoesNotContain("\nUpgrade:", outcome.Head, StringComparison.OrdinalIgnoreCase);
        });

    [Fact]
    public Task Fields_that_connection_names_are_removed() => PassedAsync(
        "HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 5\r\n\r\nhello",
        200,
        "hello",
        check: static outcome =>
        {
            Assert.DoesNotContain("\nX-Hop:", outcome.Head, StringComparison.OrdinalIgnoreCase);
        });

    // Interim responses (RFC 9110, section 15.2): passed on, without end neither in number nor in the place of a final one. nginx and HAProxy
    // do not count them.

    [Fact]
    public Task As_many_interim_responses_as_are_allowed_come_before_the_final_one() => PassedAsync(
        Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 32) + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        200,
        "hello",
        check: static outcome => Assert.Equal(32, CountOf(outcome.Head, "</a>")));

    [Fact]
    public Task A_flood_of_interim_responses_is_a_bad_gateway() => BadGatewayAsync(
        Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 33) + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_flood_of_interim_responses_without_fields_is_a_bad_gateway() => BadGatewayAsync(
        Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100_000));

    [Fact]
    public Task A_flood_of_unknown_interim_responses_is_a_bad_gateway() => BadGatewayAsync(
        Repeat("HTTP/1.1 199 Own\r\nX-A: 1\r\n\r\n", 1_000), closes: true);

    [Fact]
    public Task An_interim_response_with_a_length_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 100 Continue\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task An_interim_response_with_chunks_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_length_of_zero_of_an_interim_response_is_removed() => PassedAsync(
        "HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        200,
        "hello",
        check: static outcome => Assert.Equal(1, CountOf(outcome.Head, "Content-Length")));

    [Fact]
    public Task A_connection_that_ends_with_an_interim_response_serves_the_final_one() => PassedAsync(
        "HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");

    [Fact]
    public Task A_switch_of_protocols_after_an_interim_response_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n");

    [Fact]
    public Task An_interim_response_after_the_final_one_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 200, "hello");

    [Fact]
    public Task An_interim_response_after_the_last_chunk_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", 200, "hello");

    [Fact]
    public Task An_interim_response_after_a_final_one_without_content_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", 204, "");

    [Fact]
    public Task An_interim_response_within_a_length_is_content() => PassedAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", 200, "HTTP/1.1 100 Continue\r\n\r\n");

    [Fact]
    public Task An_interim_response_between_chunks_does_not_look_whole() => CutAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nHTTP/1.1 100 Continue\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task An_interim_response_within_the_head_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 200 OK\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_flood_of_interim_responses_for_head_is_a_bad_gateway() => WithUpstreamAsync(async (site, upstream) =>
    {
        upstream.Script("/api/bad", new UpstreamScript(Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 33)));
        Assert.Equal(502, (await AskAsync(site, "/api/bad", "HEAD")).Status);
        Assert.Equal(502, (await AskAsync(site, "/api/bad", "HEAD", isHttp2: true)).Status);
        await AssertNextIsOwnAsync(site, isHttp2: true);
    });

    /// <summary>RFC 9110, section 15.2: HTTP/1.0 has no such responses.</summary>
    [Fact]
    public Task A_client_of_http_1_0_gets_no_interim_response() => WithUpstreamAsync(async (site, upstream) =>
    {
        upstream.Script("/api/odd", new UpstreamScript(
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"));
        Wire wire = await site.ConnectAsync();
        await wire.SendAsync("GET /api/odd HTTP/1.0\r\nHost: a\r\n\r\n");
        (byte[] bytes, WireEnd end) = await wire.ReadToEndAsync().WaitAsync(Deadline);
        string text = Encoding.Latin1.GetString(bytes);
        Assert.StartsWith("HTTP/1.1 200 ", text, StringComparison.Ordinal);
        Assert.DoesNotContain("103", text, StringComparison.Ordinal);
        Assert.EndsWith("\r\n\r\nhello", text, StringComparison.Ordinal);
        Assert.Equal(WireEnd.Finished, end);
    });

    /// <summary>What was asked for and cannot be passed on is not asked of the upstream, which then must not switch.</summary>
    [Theory]
    [InlineData("GET /api/bad HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n\r\n")]
    [InlineData("GET /api/bad HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n")]
    [InlineData("POST /api/bad HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n")]
    public Task A_switch_to_what_was_not_asked_of_the_upstream_is_a_bad_gateway(string request) => WithUpstreamAsync(async (site, upstream) =>
    {
        upstream.Script("/api/bad", new UpstreamScript(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nHTTP/1.1 200 OK\r\nX-Answer: foreign\r\nContent-Length: 7\r\n\r\nforeign"));
        Wire wire = await site.ConnectAsync();
        await wire.SendAsync(request);
        Response response = await wire.ReadResponseAsync().WaitAsync(Deadline);
        Assert.Equal(502, response.Status);
        Assert.DoesNotContain("\nUpgrade:", Assert.Single(upstream.Requests), StringComparison.OrdinalIgnoreCase);
        await AssertNextIsOwnAsync(site, isHttp2: false);
    });

    // Responses without content, by their method or their status (RFC 9112, section 6.3; RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5).

    [Fact]
    public Task A_204_with_chunks_is_a_bad_gateway() => BadGatewayAsync(
        "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_204_with_chunks_for_head_is_a_bad_gateway_too() => WithUpstreamAsync(async (site, upstream) =>
    {
        upstream.Script("/api/bad", new UpstreamScript("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n"));
        Assert.Equal(502, (await AskAsync(site, "/api/bad", "HEAD")).Status);
        Assert.Equal(502, (await AskAsync(site, "/api/bad", "HEAD", isHttp2: true)).Status);
    });

    [Fact]
    public Task A_length_of_zero_of_a_204_is_removed() => PassedAsync(
        "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",
        204,
        "",
        check: static outcome => Assert.Equal(0, CountOf(outcome.Head, "Content-Length")));

    [Fact]
    public Task Surplus_bytes_after_a_204_are_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 204 No Content\r\n\r\nhello", 204, "");

    [Fact]
    public Task The_length_of_a_304_is_that_of_the_content_it_does_not_have() => PassedAsync(
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: \"a\"\r\n\r\n",
        304,
        "",
        check: static outcome => Assert.Contains("content-length: 5\r\n", outcome.Head, StringComparison.OrdinalIgnoreCase));

    [Fact]
    public Task A_whole_response_after_a_304_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 64\r\n\r\nHTTP/1.1 200 OK\r\nX-Answer: foreign\r\nContent-Length: 7\r\n\r\nforeign", 304, "");

    [Fact]
    public Task A_205_without_content_is_passed_on() => PassedAsync(
        "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", 205, "");

    [Fact]
    public Task A_205_with_no_chunks_is_passed_on() => PassedAsync(
        "HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 205, "");

    [Fact]
    public Task A_205_that_ends_with_the_connection_is_passed_on() => PassedAsync(
        "HTTP/1.1 205 Reset Content\r\n\r\n", 205, "", closes: true);

    /// <summary>Content is the upstream's fault, and harmless: unlike 204, this status does not change how the body is framed.</summary>
    [Fact]
    public Task The_content_of_a_205_keeps_its_framing() => PassedAsync(
        "HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello", 205, "hello");

    [Fact]
    public Task The_length_for_head_is_that_of_the_content_it_does_not_have() => PassedAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        200,
        "",
        method: "HEAD",
        check: static outcome => Assert.Contains("content-length: 5\r\n", outcome.Head, StringComparison.OrdinalIgnoreCase));

    [Fact]
    public Task A_head_of_chunks_for_head_keeps_the_connection() => PassedAsync(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, "", method: "HEAD");

    [Fact]
    public Task A_body_until_the_end_for_head_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\n\r\nhello", 200, "", closes: true, method: "HEAD");

    [Fact]
    public Task An_interim_response_after_one_for_head_is_passed_to_nobody() => PassedAsync(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n", 200, "", method: "HEAD");

    private static string Repeat(string text, int count) => string.Concat(Enumerable.Repeat(text, count));

    private static int CountOf(string text, string part) => text.ToUpperInvariant().Split(part.ToUpperInvariant()).Length - 1;
}
