namespace Millrace.HttpServer.Tests.Proxying.Conformance;

/// <summary>
/// What a client may send and what the upstream gets of it (RFC 9112, sections 2 to 7 and 11.2): a request that could be read in two ways
/// reaches nobody.
/// </summary>
public sealed class RequestFramingTests : ProxyConformanceTest
{
    // RFC 9112, section 5: lines of the head.

    [Fact]
    public Task An_obs_fold_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n 2\r\n\r\n");

    [Fact]
    public Task An_obs_fold_by_a_tab_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\t2\r\n\r\n");

    [Fact]
    public Task A_folded_transfer_encoding_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_fold_before_the_first_field_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\n Host: a\r\n\r\n");

    [Fact]
    public Task A_bare_lf_after_the_request_line_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\nHost: a\r\n\r\n");

    [Fact]
    public Task A_bare_lf_after_a_field_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-A: 1\nX-B: 2\r\n\r\n");

    [Fact]
    public Task A_bare_lf_that_ends_the_head_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n\n");

    [Fact]
    public Task A_bare_cr_in_a_value_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-A: 1\rX-B: 2\r\n\r\n");

    [Fact]
    public Task A_bare_cr_before_transfer_encoding_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nX-A: 1\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_nul_in_a_value_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-A: 1\0 2\r\n\r\n");

    [Fact]
    public Task A_nul_in_a_name_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX\0A: 1\r\n\r\n");

    [Fact]
    public Task A_space_before_the_colon_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-A : 1\r\n\r\n");

    [Fact]
    public Task A_tab_before_the_colon_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-A\t: 1\r\n\r\n");

    [Fact]
    public Task A_space_before_the_colon_of_content_length_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello");

    [Fact]
    public Task A_space_before_the_colon_of_transfer_encoding_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_line_without_a_colon_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n");

    [Fact]
    public Task A_field_without_a_name_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n");

    [Fact]
    public Task A_name_with_a_space_in_it_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX A: 1\r\n\r\n");

    [Fact]
    public Task A_name_outside_of_ascii_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-\u00e4: 1\r\n\r\n");

    // RFC 9112, section 3: the request line.

    [Fact]
    public Task Two_spaces_in_the_request_line_are_refused() => RefusedAsync(
        "GET  /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_tab_in_the_request_line_is_refused() => RefusedAsync(
        "GET\t/api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_space_within_the_target_is_refused() => RefusedAsync(
        "GET /api/a b HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_space_at_the_end_of_the_request_line_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1 \r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_request_line_without_a_version_is_refused() => RefusedAsync(
        "GET /api/a\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_lower_case_version_is_refused() => RefusedAsync(
        "GET /api/a http/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_version_of_two_digits_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.10\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_method_with_a_colon_is_refused() => RefusedAsync(
        "GE:T /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_nul_in_the_target_is_refused() => RefusedAsync(
        "GET /api/a\0 HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task An_escaped_nul_in_the_target_is_refused() => RefusedAsync(
        "GET /api/a%00 HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_broken_escape_in_the_path_is_refused() => RefusedAsync(
        "GET /api/a%zz HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_control_character_in_the_target_is_refused() => RefusedAsync(
        "GET /api/a\u0001 HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_fragment_in_the_target_is_refused() => RefusedAsync(
        "GET /api/a#b HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_request_without_a_host_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nX-A: 1\r\n\r\n");

    [Fact]
    public Task Two_hosts_are_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n");

    [Fact]
    public Task Two_equal_hosts_are_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_host_with_a_space_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a b\r\n\r\n");

    [Fact]
    public Task A_host_with_a_path_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a/b\r\n\r\n");

    [Fact]
    public Task A_host_list_is_refused() => RefusedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a, b\r\n\r\n");

    // RFC 9112, section 6.2: Content-Length.

    [Fact]
    public Task Two_different_lengths_are_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!");

    [Fact]
    public Task Two_equal_lengths_are_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task A_list_of_lengths_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello");

    [Fact]
    public Task A_list_of_different_lengths_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 6\r\n\r\nhello!");

    [Fact]
    public Task A_signed_length_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello");

    [Fact]
    public Task A_negative_length_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\nhello");

    [Fact]
    public Task A_hexadecimal_length_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello");

    [Fact]
    public Task A_length_with_a_point_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5.0\r\n\r\nhello");

    [Fact]
    public Task A_length_with_a_space_in_it_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5 5\r\n\r\nhello");

    [Fact]
    public Task A_length_with_an_underscore_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\nhello");

    [Fact]
    public Task An_empty_length_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\nhello");

    [Fact]
    public Task A_length_beyond_64_bits_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551621\r\n\r\nhello");

    [Fact]
    public Task A_length_after_a_vertical_tab_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: \v5\r\n\r\nhello");

    [Fact]
    public Task A_length_in_other_digits_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: \u00b2\r\n\r\nhello");

    // RFC 9112, section 6.1: Transfer-Encoding.

    [Fact]
    public Task A_length_beside_chunks_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task Chunks_beside_a_length_are_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task Chunked_twice_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task Chunked_in_two_lines_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task Chunked_before_another_coding_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_coding_that_ends_in_chunked_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_coding_that_begins_with_chunked_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_quoted_coding_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_coding_after_a_vertical_tab_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_coding_before_a_form_feed_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\f\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_coding_with_a_parameter_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task A_coding_with_a_space_in_it_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chun ked\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task An_empty_coding_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\r\n0\r\n\r\n");

    [Fact]
    public Task Chunks_over_http_1_0_are_refused() => RefusedAsync(
        "POST /api/a HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");

    [Theory]
    [InlineData("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n")]
    [InlineData("TRACE /api/a HTTP/1.1\r\nHost: a\r\n\r\n")]
    public Task Connect_and_trace_are_refused(string request) => RefusedAsync(request, status: 405);

    [Fact]
    public Task An_unknown_coding_before_chunked_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", status: 501);

    [Fact]
    public Task The_identity_coding_is_refused() => RefusedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n");

    [Fact]
    public Task A_version_of_http_2_is_refused() => RefusedAsync("GET /api/a HTTP/2.0\r\nHost: a\r\n\r\n", status: 505);

    // RFC 9112, section 7.1: chunks. The head may be on its way, but the request never becomes whole.

    [Fact]
    public Task A_chunk_size_beyond_64_bits_is_refused() => RefusedBodyAsync("ffffffffffffffff5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_size_that_wraps_to_a_small_one_is_refused() => RefusedBodyAsync("10000000000000005\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_size_of_many_zeros_is_refused() => RefusedBodyAsync("000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000005\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_signed_chunk_size_is_refused() => RefusedBodyAsync("+5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_negative_chunk_size_is_refused() => RefusedBodyAsync("-5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_size_with_a_prefix_is_refused() => RefusedBodyAsync("0x5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_size_with_an_underscore_is_refused() => RefusedBodyAsync("0_5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_size_after_a_space_is_refused() => RefusedBodyAsync(" 5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_size_that_is_no_number_is_refused() => RefusedBodyAsync("hello\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task An_empty_chunk_size_is_refused() => RefusedBodyAsync("\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_bare_lf_after_a_chunk_size_is_refused() => RefusedBodyAsync("5\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_bare_cr_after_a_chunk_size_is_refused() => RefusedBodyAsync("5\rhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_bare_lf_in_a_chunk_extension_is_refused() => RefusedBodyAsync("5;a\nb\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_bare_lf_after_a_chunk_is_refused() => RefusedBodyAsync("5\r\nhello\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_longer_than_its_size_is_refused() => RefusedBodyAsync("5\r\nhello!\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_shorter_than_its_size_is_refused() => RefusedBodyAsync("6\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_bare_lf_after_the_last_chunk_is_refused() => RefusedBodyAsync("5\r\nhello\r\n0\n\r\n");

    [Fact]
    public Task A_trailer_with_a_bare_lf_is_refused() => RefusedBodyAsync("5\r\nhello\r\n0\r\nX-A: 1\nX-B: 2\r\n\r\n");

    [Fact]
    public Task A_folded_trailer_is_refused() => RefusedBodyAsync("5\r\nhello\r\n0\r\nX-A: 1\r\n 2\r\n\r\n");

    [Fact]
    public Task A_trailer_with_a_space_before_the_colon_is_refused() => RefusedBodyAsync("5\r\nhello\r\n0\r\nX-A : 1\r\n\r\n");

    // What reaches the upstream, byte for byte.

    [Fact]
    public Task A_request_reaches_the_upstream_as_it_was_sent() => ForwardedAsync(
        "GET /api/a?b=c%20d&e HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-b:2\r\n\r\n",
        "GET /api/a?b=c%20d&e HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nx-b: 2\r\n\r\n");

    [Fact]
    public Task An_absolute_target_becomes_the_origin_form_with_its_host() => ForwardedAsync(
        "GET http://a/api/a HTTP/1.1\r\nHost: b\r\n\r\n",
        "GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task An_escaped_slash_stays_escaped() => ForwardedAsync(
        "GET /api/a%2Fb HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /api/a%2Fb HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_body_with_a_length_keeps_it() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task An_empty_body_keeps_its_length() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");

    [Fact]
    public Task A_length_with_leading_zeros_is_that_length() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\n\r\nhello",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\n\r\nhello");

    [Fact]
    public Task A_get_with_a_body_keeps_it() => ForwardedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "GET /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task Chunked_in_any_case_is_chunked() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ChUnKeD\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_tab_around_chunked_is_white_space() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\tchunked\t\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_chunk_extension_is_not_passed_on() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b;c=\"d\"\r\nhello\r\n0;e\r\n\r\n",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task A_field_like_transfer_encoding_frames_nothing() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task Connection_cannot_remove_the_length() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nConnection: Content-Length\r\nContent-Length: 5\r\n\r\nhello",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task Connection_cannot_remove_the_host() => ForwardedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nConnection: Host\r\n\r\n",
        "GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task Connection_cannot_remove_the_chunks() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nConnection: Transfer-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");

    [Fact]
    public Task Fields_that_connection_names_are_removed() => ForwardedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nX-End: 2\r\n\r\n",
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-End: 2\r\n\r\n");

    [Fact]
    public Task Fields_that_a_second_connection_names_are_removed() => ForwardedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-Hop: 1\r\nConnection: keep-alive\r\nConnection: x-hop\r\n\r\n",
        "GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task Hop_by_hop_fields_are_removed() => ForwardedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nKeep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\nTE: gzip\r\nProxy-Authorization: Basic eA==\r\n\r\n",
        "GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task An_upgrade_to_h2c_is_not_passed_on() => ForwardedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
        "GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task An_upgrade_that_connection_does_not_name_is_not_passed_on() => ForwardedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\r\n",
        "GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task An_upgrade_with_a_body_is_none() => ForwardedAsync(
        "POST /api/a HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\nhello",
        "POST /api/a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");

    [Fact]
    public Task Claims_about_the_client_are_removed() => ForwardedAsync(
        "GET /api/a HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: b\r\nForwarded: for=1.2.3.4\r\n\r\n",
        "GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task Any_method_is_passed_on() => ForwardedAsync(
        "PURGE /api/a HTTP/1.1\r\nHost: a\r\n\r\n",
        "PURGE /api/a HTTP/1.1\r\nHost: a\r\n\r\n");

    [Fact]
    public Task A_request_of_http_1_0_becomes_one_of_1_1() => ForwardedAsync(
        "GET /api/a HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
        "GET /api/a HTTP/1.1\r\nHost: a\r\n\r\n");
}
