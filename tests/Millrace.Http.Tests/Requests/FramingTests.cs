namespace Millrace.Http.Tests;

/// <summary>RFC 9112 sections 6 and 9.3: where a body ends, and whether another request follows.</summary>
public class FramingTests
{
    [Theory]
    [InlineData("", BodyFraming.None, 0)]
    [InlineData("Content-Length: 0\r\n", BodyFraming.None, 0)]
    [InlineData("Content-Length: 12\r\n", BodyFraming.Length, 12)]
    [InlineData("Content-Length: 0000000000000000000000012\r\n", BodyFraming.Length, 12)]
    [InlineData("Content-Length: 9223372036854775807\r\n", BodyFraming.Length, long.MaxValue)]
    [InlineData("Transfer-Encoding: chunked\r\n", BodyFraming.Chunked, 0)]
    [InlineData("TRANSFER-ENCODING:CHUNKED\t\r\n", BodyFraming.Chunked, 0)]
    internal void A_body_is_framed(string lines, BodyFraming body, long contentLength)
    {
        RequestHead head = Heads.Complete(Heads.WithFields(lines)).Head;
        Assert.Equal(body, head.Body);
        Assert.Equal(contentLength, head.ContentLength);
    }

    [Theory]
    [InlineData("")]
    [InlineData("+1")]
    [InlineData("-1")]
    [InlineData("1 2")]
    [InlineData("0x10")]
    [InlineData("1e3")]
    [InlineData("1.0")]
    [InlineData("1,1")]
    [InlineData("1;")]
    [InlineData("\"1\"")]
    [InlineData("\xB2")]
    [InlineData("9223372036854775808")]
    [InlineData("18446744073709551617")]
    [InlineData("99999999999999999999999999")]
    public void A_content_length_that_is_no_number_of_a_long_is_refused(string value)
        => Heads.FieldsAreRefused(HeadRefusal.BadContentLength, $"Content-Length: {value}\r\n");

    [Theory]
    [InlineData("1", "2")]
    [InlineData("1", "1")]
    [InlineData("0", "0")]
    public void A_repeated_content_length_is_refused_even_if_equal_as_rfc_9110_section_8_6_allows(string first, string second)
        => Heads.FieldsAreRefused(HeadRefusal.RepeatedContentLength, $"Content-Length: {first}\r\nContent-Length: {second}\r\n");

    [Theory]
    [InlineData("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n")]
    [InlineData("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n")]
    public void Transfer_encoding_with_content_length_is_refused_as_section_6_3_allows(string lines)
        => Heads.FieldsAreRefused(HeadRefusal.TransferEncodingWithContentLength, lines);

    [Fact]
    public void Transfer_encoding_on_http_1_0_is_refused_because_section_6_1_calls_it_faulty()
        => Heads.IsRefused(HeadRefusal.TransferEncodingOnHttp10, "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n");

    [Theory]
    [InlineData("chunked, gzip")]
    [InlineData("gzip")]
    [InlineData("identity")]
    [InlineData("xchunked")]
    [InlineData("foo, bar")]
    public void Without_a_final_chunked_section_6_3_demands_400(string value)
        => Heads.FieldsAreRefused(HeadRefusal.ChunkedNotFinal, $"Transfer-Encoding: {value}\r\n");

    [Fact]
    public void Chunked_that_is_not_final_over_two_lines_is_refused()
        => Heads.FieldsAreRefused(HeadRefusal.ChunkedNotFinal, "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n");

    [Theory]
    [InlineData("Transfer-Encoding: chunked, chunked\r\n")]
    [InlineData("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")]
    public void A_repeated_chunked_is_refused(string lines) => Heads.FieldsAreRefused(HeadRefusal.RepeatedChunked, lines);

    [Theory]
    [InlineData("Transfer-Encoding: gzip, chunked\r\n")]
    [InlineData("Transfer-Encoding: foo\r\nTransfer-Encoding: chunked\r\n")]
    [InlineData("Transfer-Encoding: foo;a=b , chunked\r\n")]
    public void Another_coding_before_chunked_is_refused_with_501(string lines)
    {
        Heads.FieldsAreRefused(HeadRefusal.UnknownTransferCoding, lines);
        Assert.Equal(501, HeadRefusals.StatusOf(HeadRefusal.UnknownTransferCoding));
    }

    [Theory]
    [InlineData("")]
    [InlineData(",chunked")]
    [InlineData("chunked,")]
    [InlineData("chunked;a=b")]
    [InlineData("chunked;")]
    [InlineData("\"chunked\"")]
    [InlineData("chun ked")]
    [InlineData("foo;a=\", chunked\"")]
    public void A_malformed_transfer_encoding_is_refused(string value)
        => Heads.FieldsAreRefused(HeadRefusal.BadTransferEncoding, $"Transfer-Encoding: {value}\r\n");

    [Theory]
    [InlineData("1.1", "", true)]
    [InlineData("1.1", "Connection: close\r\n", false)]
    [InlineData("1.1", "Connection: CLOSE\r\n", false)]
    [InlineData("1.1", "Connection: TE, close\r\n", false)]
    [InlineData("1.1", "Connection: TE\r\nConnection: close\r\n", false)]
    [InlineData("1.1", "Connection: keep-alive, close\r\n", false)]
    [InlineData("1.1", "Connection: closed\r\n", true)]
    [InlineData("1.1", "Connection: , ,\r\n", true)]
    [InlineData("1.0", "", false)]
    [InlineData("1.0", "Connection: keep-alive\r\n", true)]
    [InlineData("1.0", "Connection: te,Keep-Alive\r\n", true)]
    [InlineData("1.0", "Connection: te\r\nConnection: Keep-Alive\r\n", true)]
    [InlineData("1.0", "Connection: keep-alive\r\nConnection: close\r\n", false)]
    public void A_connection_persists_as_section_9_3_says(string version, string lines, bool keepAlive)
        => Assert.Equal(keepAlive, Heads.Complete($"GET / HTTP/{version}\r\nHost: a\r\n{lines}\r\n").Head.KeepAlive);

    [Theory]
    [InlineData("1.1", "100-continue", true)]
    [InlineData("1.1", "100-Continue", true)]
    [InlineData("1.1", "x, 100-continue", true)]
    [InlineData("1.1", "100-continues", false)]
    [InlineData("1.0", "100-continue", false)]
    public void A_100_is_expected_as_rfc_9110_section_10_1_1_says(string version, string value, bool expected)
        => Assert.Equal(expected, Heads.Complete($"GET / HTTP/{version}\r\nHost: a\r\nExpect: {value}\r\n\r\n").Head.ExpectContinue);
}
