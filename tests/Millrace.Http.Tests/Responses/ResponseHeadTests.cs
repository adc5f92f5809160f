namespace Millrace.Http.Tests;

/// <summary>Heads of an upstream's responses: what is read from them, and what is refused (RFC 9112 sections 4 to 6).</summary>
public class ResponseHeadTests
{
    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\n\r\n", 200, "OK", HttpVersion.Http11)]
    [InlineData("HTTP/1.1 200 \r\n\r\n", 200, "", HttpVersion.Http11)]
    [InlineData("HTTP/1.1 200\r\n\r\n", 200, "", HttpVersion.Http11)]
    [InlineData("HTTP/1.0 404 Not\tfound \xE4 \r\n\r\n", 404, "Not\tfound \xE4 ", HttpVersion.Http10)]
    [InlineData("HTTP/1.9 999 Odd\r\n\r\n", 999, "Odd", HttpVersion.Http11)]
    [InlineData("HTTP/1.1 100 Continue\r\n\r\n", 100, "Continue", HttpVersion.Http11)]
    internal void A_status_line_is_read(string text, int status, string reason, HttpVersion version)
    {
        ResponseHead head = Complete(text);
        Assert.Equal((status, reason, version), (head.Status, head.Reason.Text(Latin1.Bytes(text)), head.Version));
    }

    [Theory]
    [InlineData("HTTP/1.1 OK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("HTTP/1.1  200 OK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("HTTP/1.1\t200 OK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("HTTP/1.1 2000 OK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("HTTP/1.1 20 OK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("HTTP/1.1 099 OK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("HTTP/1.1 200\tOK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("HTTP/1.1 200 O\0K\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("http/1.1 200 OK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("HTTP/11 200 OK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("ICY 200 OK\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("\r\nHTTP/1.1 200 OK\r\n\r\n", HeadRefusal.BadStatusLine)]
    [InlineData("\nHTTP/1.1 200 OK\r\n\r\n", HeadRefusal.BareLf)]
    [InlineData("HTTP/1.1 200 OK\n", HeadRefusal.BareLf)]
    [InlineData("HTTP/1.1 200\n", HeadRefusal.BareLf)]
    [InlineData("HTTP/1.1 200 OK\rX", HeadRefusal.BareCr)]
    [InlineData("HTTP/2", HeadRefusal.VersionNotSupported)]
    [InlineData("HTTP/0.9 200 OK\r\n", HeadRefusal.VersionNotSupported)]
    internal void A_malformed_status_line_is_refused(string text, HeadRefusal refusal) => Refused(refusal, text);

    [Theory]
    [InlineData(" A: b\r\n", HeadRefusal.WhitespaceBeforeFirstField)]
    [InlineData("A: b\r\n c\r\n", HeadRefusal.ObsFold)]
    [InlineData("A: b\r\n\tc\r\n", HeadRefusal.ObsFold)]
    [InlineData(": b\r\n", HeadRefusal.EmptyFieldName)]
    [InlineData("A : b\r\n", HeadRefusal.SpaceBeforeColon)]
    [InlineData("A\r\n", HeadRefusal.MissingColon)]
    [InlineData("A(: b\r\n", HeadRefusal.BadFieldName)]
    [InlineData("A: b\0\r\n", HeadRefusal.BadFieldValue)]
    [InlineData("A: b\x7F\r\n", HeadRefusal.BadFieldValue)]
    [InlineData("A: b\rB: c\r\n", HeadRefusal.BareCr)]
    [InlineData("A: b\nB: c\r\n", HeadRefusal.BareLf)]
    [InlineData("Content-Length: 1\r\nContent-Length: 1\r\n", HeadRefusal.RepeatedContentLength)]
    [InlineData("Content-Length: 1, 1\r\n", HeadRefusal.BadContentLength)]
    [InlineData("Content-Length: -1\r\n", HeadRefusal.BadContentLength)]
    [InlineData("Content-Length: 9223372036854775808\r\n", HeadRefusal.BadContentLength)]
    [InlineData("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", HeadRefusal.TransferEncodingWithContentLength)]
    [InlineData("Transfer-Encoding: gzip\r\n", HeadRefusal.ChunkedNotFinal)]
    [InlineData("Transfer-Encoding: chunked, gzip\r\n", HeadRefusal.ChunkedNotFinal)]
    [InlineData("Transfer-Encoding: gzip, chunked\r\n", HeadRefusal.UnknownTransferCoding)]
    [InlineData("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", HeadRefusal.RepeatedChunked)]
    [InlineData("Transfer-Encoding: \r\n", HeadRefusal.BadTransferEncoding)]
    internal void Malformed_fields_are_refused(string lines, HeadRefusal refusal) =>
        Refused(refusal, $"HTTP/1.1 200 OK\r\n{lines}\r\n");

    [Fact]
    public void Chunks_in_http_1_0_are_refused() =>
        Refused(HeadRefusal.TransferEncodingOnHttp10, "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");

    [Theory]
    [InlineData("200 OK", "", false, ResponseBodyFraming.UntilClose, -1)]
    [InlineData("200 OK", "Content-Length: 5\r\n", false, ResponseBodyFraming.Length, 5)]
    [InlineData("200 OK", "Content-Length: 0\r\n", false, ResponseBodyFraming.None, 0)]
    [InlineData("200 OK", "Transfer-Encoding: Chunked\r\n", false, ResponseBodyFraming.Chunked, -1)]
    [InlineData("205 Reset Content", "", false, ResponseBodyFraming.UntilClose, -1)]
    [InlineData("204 No Content", "", false, ResponseBodyFraming.None, -1)]
    [InlineData("204 No Content", "Content-Length: 0\r\n", false, ResponseBodyFraming.None, 0)]
    [InlineData("304 Not Modified", "Content-Length: 5\r\n", false, ResponseBodyFraming.None, 5)]
    [InlineData("304 Not Modified", "Transfer-Encoding: chunked\r\n", false, ResponseBodyFraming.None, -1)]
    [InlineData("103 Early Hints", "", false, ResponseBodyFraming.None, -1)]
    [InlineData("101 Switching Protocols", "Upgrade: x\r\n", false, ResponseBodyFraming.None, -1)]
    [InlineData("200 OK", "Content-Length: 5\r\n", true, ResponseBodyFraming.None, 5)]
    [InlineData("200 OK", "Transfer-Encoding: chunked\r\n", true, ResponseBodyFraming.None, -1)]
    [InlineData("200 OK", "", true, ResponseBodyFraming.None, -1)]
    internal void A_body_is_framed_by_method_status_and_fields(
        string status, string lines, bool isForHead, ResponseBodyFraming body, long contentLength)
    {
        ResponseHead head = Complete($"HTTP/1.1 {status}\r\n{lines}\r\n", isForHead);
        Assert.Equal((body, contentLength), (head.Body, head.ContentLength));
    }

    [Theory]
    [InlineData("204 No Content", "Content-Length: 1\r\n")]
    [InlineData("204 No Content", "Transfer-Encoding: chunked\r\n")]
    [InlineData("100 Continue", "Content-Length: 1\r\n")]
    [InlineData("101 Switching Protocols", "Transfer-Encoding: chunked\r\n")]
    public void A_body_where_none_is_allowed_is_refused(string status, string lines) =>
        Refused(HeadRefusal.BodyNotAllowed, $"HTTP/1.1 {status}\r\n{lines}\r\n");

    [Theory]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", true)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: Close\r\n\r\n", false)]
    [InlineData("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: a\r\nConnection: close\r\n\r\n", false)]
    [InlineData("HTTP/1.1 200 OK\r\n\r\n", false)]
    [InlineData("HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", false)]
    [InlineData("HTTP/1.0 200 OK\r\nContent-Length: 1\r\nConnection: keep-alive\r\n\r\n", true)]
    public void A_connection_persists_as_section_9_3_says(string text, bool keepsAlive) =>
        Assert.Equal(keepsAlive, Complete(text).KeepAlive);

    [Theory]
    [InlineData("Keep-Alive: timeout=5\r\n", 5)]
    [InlineData("keep-alive: max=10, TIMEOUT=72\r\n", 72)]
    [InlineData("Keep-Alive: timeout=0\r\n", 0)]
    [InlineData("Keep-Alive: timeout=9223372036854775807\r\n", 86_400)]
    [InlineData("Keep-Alive: timeout=-5\r\n", null)]
    [InlineData("Keep-Alive: timeout=\r\n", null)]
    [InlineData("Keep-Alive: timeout=5 s\r\n", null)]
    [InlineData("Keep-Alive: max=5\r\n", null)]
    [InlineData("Keep-Alives: timeout=5\r\n", null)]
    public void The_time_a_connection_is_kept_is_read(string lines, int? seconds)
    {
        string text = $"HTTP/1.1 200 OK\r\nA: b\r\n{lines}\r\n";
        Assert.Equal(seconds, Complete(text).KeepAliveSeconds(Latin1.Bytes(text)));
    }

    [Fact]
    public void Fields_are_ranges_in_order()
    {
        const string Text = "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nset-cookie:\t c=d \r\nX:\r\n\r\nbody";
        byte[] bytes = Latin1.Bytes(Text);
        string[] fields =
            [.. Complete(Text).Fields.ToArray().Select(line => $"{line.NameText.Text(bytes)}|{line.Value.Text(bytes)}")];
        Assert.Equal(["Set-Cookie|a=b", "set-cookie|c=d", "X|"], fields);
    }

    [Fact]
    public void Limits_hold_to_the_byte()
    {
        var limits = new HeadLimits(requestLineBytesMax: 64, headBytesMax: 128, fieldsMax: 2);
        var head = new ResponseHead();
        byte[] line = Latin1.Bytes($"HTTP/1.1 200 {new string('r', 64 - 13 - 2)}\r\n");
        Assert.Equal(64, line.Length);
        Assert.True(ResponseHeadParser.Parse([.. line, .. "\r\n"u8], head, isForHead: false, limits).IsComplete);
        Assert.Equal(
            HeadRefusal.HeadTooLarge,
            ResponseHeadParser.Parse(Latin1.Bytes($"HTTP/1.1 200 {new string('r', 64)}"), head, isForHead: false, limits).Refusal);
        byte[] whole = [.. line, .. Latin1.Bytes($"A: {new string('a', 128 - 64 - 5 - 2)}\r\n\r\n")];
        Assert.Equal(128, whole.Length);
        Assert.True(ResponseHeadParser.Parse(whole, head, isForHead: false, limits).IsComplete);
        Assert.True(ResponseHeadParser.Parse(whole.AsSpan(0, 127), head, isForHead: false, limits).IsIncomplete);
        byte[] longer = [.. line, .. Latin1.Bytes($"A: {new string('a', 128 - 64 - 5 - 1)}\r\n\r\n")];
        Assert.Equal(HeadRefusal.HeadTooLarge, ResponseHeadParser.Parse(longer, head, isForHead: false, limits).Refusal);
        Assert.Equal(
            HeadRefusal.TooManyFields,
            ResponseHeadParser.Parse("HTTP/1.1 200 OK\r\nA:\r\nB:\r\nC:\r\n\r\n"u8, head, isForHead: false, limits).Refusal);
    }

    [Fact]
    public void The_parser_agrees_with_the_reference() => Cases.Run(30_000, static random =>
    {
        byte[] bytes = ResponseGenerator.Any(random);
        HeadLimits limits = HeadGenerator.Limits(random);
        bool isForHead = random.Next(4) == 0;
        var head = new ResponseHead();
        string parsed = ResponseDescription.Of(ResponseHeadParser.Parse(bytes, head, isForHead, limits), head, bytes);
        Assert.Equal(ReferenceResponse.Describe(bytes, isForHead, limits), parsed);
    });

    [Fact]
    public void The_generator_makes_every_result_there_is()
    {
        var seen = new HashSet<HeadRefusal>();
        var head = new ResponseHead();
        for (int seed = 0; seed < 30_000; seed++)
        {
            var random = new Random(seed);
            byte[] bytes = ResponseGenerator.Any(random);
            seen.Add(ResponseHeadParser.Parse(bytes, head, isForHead: false, HeadGenerator.Limits(random)).Refusal);
        }

        HeadRefusal[] expected =
        [
            HeadRefusal.None, HeadRefusal.BareCr, HeadRefusal.BareLf, HeadRefusal.ObsFold, HeadRefusal.WhitespaceBeforeFirstField,
            HeadRefusal.EmptyFieldName, HeadRefusal.SpaceBeforeColon, HeadRefusal.MissingColon, HeadRefusal.BadFieldName,
            HeadRefusal.BadFieldValue, HeadRefusal.BadContentLength, HeadRefusal.RepeatedContentLength, HeadRefusal.BadTransferEncoding,
            HeadRefusal.RepeatedChunked, HeadRefusal.ChunkedNotFinal, HeadRefusal.TransferEncodingWithContentLength,
            HeadRefusal.TransferEncodingOnHttp10, HeadRefusal.HeadTooLarge, HeadRefusal.TooManyFields, HeadRefusal.UnknownTransferCoding,
            HeadRefusal.VersionNotSupported, HeadRefusal.BadStatusLine, HeadRefusal.BodyNotAllowed,
        ];
        Assert.Equal(expected.Order(), seen.Order());
    }

    private static ResponseHead Complete(string text, bool isForHead = false)
    {
        byte[] bytes = Latin1.Bytes(text);
        var head = new ResponseHead();
        for (int length = 0; length < bytes.Length; length++)
        {
            HeadResult part = ResponseHeadParser.Parse(bytes.AsSpan(0, length), head, isForHead, HeadLimits.Default);
            Assert.False(part.IsRefused, $"{length} bytes are refused: {part.Refusal}");
        }

        HeadResult result = ResponseHeadParser.Parse(bytes, head, isForHead, HeadLimits.Default);
        Assert.Equal((HeadRefusal.None, text.IndexOf("\r\n\r\n", StringComparison.Ordinal) + 4), (result.Refusal, result.Consumed));
        return head;
    }

    /// <summary>It is refused as a whole, and byte by byte with the same reason.</summary>
    private static void Refused(HeadRefusal refusal, string text)
    {
        byte[] bytes = Latin1.Bytes(text);
        var head = new ResponseHead();
        HeadRefusal first = Enumerable.Range(0, bytes.Length + 1)
            .Select(length => ResponseHeadParser.Parse(bytes.AsSpan(0, length), head, isForHead: false, HeadLimits.Default).Refusal)
            .First(static found => found != HeadRefusal.None);
        Assert.Equal((refusal, refusal), (first, ResponseHeadParser.Parse(bytes, head, isForHead: false, HeadLimits.Default).Refusal));
    }
}
