namespace Millrace.Http.Tests;

/// <summary>RFC 9113 section 8: what the fields of a request become, and which are refused.</summary>
public class RequestFieldsTests
{
    private const string Get = ":method=GET|:scheme=https|:path=/|:authority=a";

    [Fact]
    public void A_request_becomes_the_one_of_HTTP_1_that_means_the_same() => Becomes(
        "GET /a?b HTTP/1.1\r\nhost: example.org\r\naccept: */*\r\nx: \r\n\r\n",
        ":method=GET|:scheme=https|:authority=example.org|:path=/a?b|accept=*/*|x=");

    // Section 8.3: pseudo-fields come in any order.
    [Fact]
    public void The_order_of_pseudo_fields_does_not_matter() =>
        Becomes("GET / HTTP/1.1\r\nhost: a\r\n\r\n", ":authority=a|:path=/|:scheme=http|:method=GET");

    [Fact]
    public void The_head_is_that_of_the_bytes()
    {
        var fields = new RequestFields(HeadLimits.Default);
        Assert.Equal(HeadRefusal.None, Read(fields, $"{Get}|if-none-match=\"x\"|content-length=3|expect=100-continue"));
        RequestHead head = fields.Head;
        Assert.Equal((Method.Get, "/", "a"), (head.Method, head.Target.Path.Text(fields.Bytes), head.Authority.Text(fields.Bytes)));
        Assert.True(head.TryGet(FieldName.IfNoneMatch, out TextRange tag) && head.Has(FieldName.ContentLength));
        Assert.Equal(("\"x\"", 3, true), (tag.Text(fields.Bytes), head.ContentLength, head.ExpectContinue));
        Assert.Equal(UriScheme.Https, fields.Scheme);
    }

    // Section 8.3.
    [Theory]
    [InlineData($"{Get}|:status=200", HeadRefusal.UnknownPseudoField)]
    [InlineData($"{Get}|:protocol=websocket", HeadRefusal.UnknownPseudoField)]
    [InlineData($":=a|{Get}", HeadRefusal.UnknownPseudoField)]
    [InlineData($":Method=GET|{Get}", HeadRefusal.UnknownPseudoField)]
    [InlineData($"{Get}|a=b|:path=/", HeadRefusal.MisplacedPseudoField)]
    [InlineData(":method=GET|:scheme=https|:path=/|a=b|:authority=a", HeadRefusal.MisplacedPseudoField)]
    [InlineData($"{Get}|cookie=b|:x=/", HeadRefusal.MisplacedPseudoField)]
    internal void A_pseudo_field_that_is_unknown_or_late_is_malformed(string fields, HeadRefusal refusal) => IsMalformed(refusal, fields);

    // Section 8.3.1: exactly one value for :method, :scheme and :path, unless it is CONNECT.
    [Theory]
    [InlineData(":scheme=https|:path=/|:authority=a", HeadRefusal.MissingPseudoField)]
    [InlineData(":method=GET|:path=/|:authority=a", HeadRefusal.MissingPseudoField)]
    [InlineData(":method=GET|:scheme=https|:authority=a", HeadRefusal.MissingPseudoField)]
    [InlineData("", HeadRefusal.MissingPseudoField)]
    [InlineData("host=a", HeadRefusal.MissingPseudoField)]
    [InlineData($"{Get}|:method=GET", HeadRefusal.RepeatedPseudoField)]
    [InlineData($"{Get}|:scheme=https", HeadRefusal.RepeatedPseudoField)]
    [InlineData($"{Get}|:path=/", HeadRefusal.RepeatedPseudoField)]
    [InlineData($"{Get}|:authority=a", HeadRefusal.RepeatedPseudoField)]
    internal void A_pseudo_field_that_is_missing_or_doubled_is_malformed(string fields, HeadRefusal refusal) =>
        IsMalformed(refusal, fields);

    // Section 8.3.1: :path MUST NOT be empty for http or https URIs; it starts with a slash, or is the asterisk of OPTIONS.
    [Theory]
    [InlineData("")]
    [InlineData("a")]
    [InlineData("http://a/")]
    [InlineData("*")]
    [InlineData("/a b")]
    [InlineData("/a#b")]
    [InlineData("/\u00E4")]
    [InlineData("/\0")]
    [InlineData("/\r\nx: y")]
    public void What_is_no_path_is_malformed(string path) =>
        IsMalformed(HeadRefusal.BadPath, $":method=GET|:scheme=https|:path={path}|:authority=a");

    [Fact]
    public void OPTIONS_may_ask_for_the_asterisk()
    {
        Becomes("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", ":method=OPTIONS|:scheme=https|:path=*|:authority=a");
        IsMalformed(HeadRefusal.BadPath, ":method=OPTIONS|:scheme=https|:path=*a|:authority=a");
    }

    [Theory]
    [InlineData("")]
    [InlineData("G T")]
    [InlineData("GET ")]
    [InlineData("G\r\n")]
    [InlineData("GET /x")]
    public void What_is_no_method_is_malformed(string method) =>
        IsMalformed(HeadRefusal.BadMethod, $":method={method}|:scheme=https|:path=/|:authority=a");

    [Fact]
    public void An_unknown_method_is_none_of_ours_but_a_method() =>
        Becomes("get / HTTP/1.1\r\nhost: a\r\n\r\n", ":method=get|:scheme=https|:path=/|:authority=a");

    [Theory]
    [InlineData("")]
    [InlineData("1http")]
    [InlineData("ht tp")]
    public void What_is_no_scheme_is_malformed(string scheme) =>
        IsMalformed(HeadRefusal.BadScheme, $":method=GET|:scheme={scheme}|:path=/|:authority=a");

    [Fact]
    public void Another_scheme_is_answered() => IsAnswered(400, ":method=GET|:scheme=ftp|:path=/|:authority=a");

    // Section 8.3.1: :authority MUST NOT include the deprecated userinfo subcomponent for http or https.
    // RFC 9110 section 7.2: what is wrong with a Host is wrong with :authority, and the response to both is 400.
    [Theory]
    [InlineData("u@a")]
    [InlineData("a/b")]
    [InlineData("a b")]
    [InlineData("a:b")]
    [InlineData("a\r\nx: y")]
    [InlineData("..a")]
    [InlineData("a..b")]
    [InlineData("a:99999")]
    public void What_is_not_an_authority_is_answered_as_a_bad_host_is(string authority)
    {
        Assert.Equal(
            HeadRefusal.BadAuthority,
            Read(new RequestFields(HeadLimits.Default), $":method=GET|:scheme=https|:path=/|:authority={authority}"));
        IsAnswered(400, $":method=GET|:scheme=https|:path=/|:authority={authority}");
    }

    [Theory]
    [InlineData("")]
    [InlineData(":80")]
    public void An_authority_without_a_name_is_what_such_a_host_is_in_HTTP_1(string authority)
    {
        Becomes($"GET / HTTP/1.1\r\nhost: {authority}\r\n\r\n", $":method=GET|:scheme=https|:path=/|:authority={authority}");
        Becomes($"GET / HTTP/1.1\r\nhost: {authority}\r\n\r\n", $":method=GET|:scheme=https|:path=/|host={authority}");
        Assert.Equal(authority, Authority($"GET / HTTP/1.1\r\nHost: {authority}\r\n\r\n"));
    }

    [Fact]
    public void A_host_stands_in_for_the_authority() =>
        Becomes("GET / HTTP/1.1\r\nhost: a\r\n\r\n", ":method=GET|:scheme=https|:path=/|host=a");

    [Fact]
    public void A_request_for_nobody_is_answered() => IsAnswered(400, ":method=GET|:scheme=https|:path=/");

    // Section 8.3.1: a Host field that identifies another entity than :authority makes a request malformed.
    [Theory]
    [InlineData("https", "a", "b")]
    [InlineData("https", "a", "")]
    [InlineData("https", "a", "a:80")]
    [InlineData("http", "a", "a:443")]
    [InlineData("https", "a:8443", "a")]
    public void A_host_that_is_not_the_authority_is_malformed(string scheme, string authority, string host) =>
        IsMalformed(HeadRefusal.OtherHost, $":method=GET|:scheme={scheme}|:path=/|:authority={authority}|host={host}");

    [Theory]
    [InlineData("https", "a", "A")]
    [InlineData("https", "a:443", "a")]
    [InlineData("https", "a", "a:443")]
    [InlineData("http", "a", "a:80")]
    public void A_host_that_is_the_authority_is_left_out(string scheme, string authority, string host) => Becomes(
        $"GET / HTTP/1.1\r\nhost: {authority}\r\n\r\n",
        $":method=GET|:scheme={scheme}|:path=/|:authority={authority}|host={host}");

    [Theory]
    [InlineData(":method=GET|:scheme=https|:path=/|host=a|host=a")]
    [InlineData(":method=GET|:scheme=https|:path=/|:authority=a|host=a|host=a")]
    [InlineData(":method=GET|:scheme=https|:path=/|:authority=a|host=a|accept=b|host=b")]
    public void Two_hosts_are_answered_as_in_HTTP_1(string fields) => IsAnswered(400, fields);

    // Section 8.2: field names MUST be converted to lower case; 8.2.1: no 0x00-0x20, 0x41-0x5A, 0x7F-0xFF, and no colon.
    [Theory]
    [InlineData("Accept", HeadRefusal.UpperCaseName)]
    [InlineData("x-A", HeadRefusal.UpperCaseName)]
    [InlineData("", HeadRefusal.BadFieldName)]
    [InlineData("a b", HeadRefusal.BadFieldName)]
    [InlineData("a:b", HeadRefusal.BadFieldName)]
    [InlineData("a\0", HeadRefusal.BadFieldName)]
    [InlineData("a\r", HeadRefusal.BadFieldName)]
    [InlineData("a\n", HeadRefusal.BadFieldName)]
    [InlineData("a\u007F", HeadRefusal.BadFieldName)]
    [InlineData("\u00E4", HeadRefusal.BadFieldName)]
    internal void A_name_that_is_none_is_malformed(string name, HeadRefusal refusal) => IsMalformed(refusal, $"{Get}|{name}=b");

    // Section 8.2.1: no NUL, LF or CR at any position, no SP or HTAB at either end.
    [Theory]
    [InlineData("a\0b")]
    [InlineData("a\rb")]
    [InlineData("a\nb")]
    [InlineData("\r")]
    [InlineData(" a")]
    [InlineData("a ")]
    [InlineData("\ta")]
    [InlineData("a\t")]
    [InlineData(" ")]
    [InlineData("a\u0001b")]
    public void A_value_that_is_none_is_malformed(string value) => IsMalformed(HeadRefusal.BadFieldValue, $"{Get}|a={value}");

    // Section 8.2.2.
    [Theory]
    [InlineData("connection", "close")]
    [InlineData("proxy-connection", "close")]
    [InlineData("keep-alive", "1")]
    [InlineData("transfer-encoding", "chunked")]
    [InlineData("upgrade", "h2c")]
    [InlineData("te", "gzip")]
    [InlineData("te", "trailers, gzip")]
    [InlineData("te", "")]
    public void A_field_of_a_connection_is_malformed(string name, string value) =>
        IsMalformed(HeadRefusal.ConnectionField, $"{Get}|{name}={value}");

    [Fact]
    public void TE_may_say_trailers() => Becomes("GET / HTTP/1.1\r\nhost: a\r\nte: trailers\r\n\r\n", $"{Get}|te=trailers");

    // Section 8.2.3: crumbs MUST be concatenated with "; " before they are passed on.
    [Theory]
    [InlineData("cookie=a=b", "a=b")]
    [InlineData("cookie=a=b|cookie=c=d|cookie=e=f; g=h", "a=b; c=d; e=f; g=h")]
    [InlineData("cookie=|cookie=", "")]
    [InlineData("cookie=|cookie=a|cookie=|cookie=b|cookie=", "a; b")]
    public void Crumbs_become_one_cookie(string crumbs, string cookie) =>
        Becomes($"GET / HTTP/1.1\r\nhost: a\r\ncookie: {cookie}\r\n\r\n", $"{Get}|{crumbs}");

    [Fact]
    public void Crumbs_with_fields_between_them_become_one_cookie_too() =>
        Becomes("GET / HTTP/1.1\r\nhost: a\r\nx: y\r\ncookie: a=b; c=d\r\n\r\n", $"{Get}|cookie=a=b|x=y|cookie=c=d");

    // Section 8.1.1.
    [Theory]
    [InlineData("content-length=", HeadRefusal.BadContentLength)]
    [InlineData("content-length=-1", HeadRefusal.BadContentLength)]
    [InlineData("content-length=+1", HeadRefusal.BadContentLength)]
    [InlineData("content-length=1, 1", HeadRefusal.BadContentLength)]
    [InlineData("content-length=9223372036854775808", HeadRefusal.BadContentLength)]
    [InlineData("content-length=1|content-length=1", HeadRefusal.RepeatedContentLength)]
    internal void A_length_that_is_none_is_malformed(string fields, HeadRefusal refusal) => IsMalformed(refusal, $"{Get}|{fields}");

    // Section 8.5: :scheme and :path MUST be omitted; :authority holds host and port.
    [Fact]
    public void CONNECT_names_a_host_and_a_port_only()
    {
        Becomes("CONNECT a:443 HTTP/1.1\r\nhost: a:443\r\n\r\n", ":method=CONNECT|:authority=a:443");
        IsMalformed(HeadRefusal.ForbiddenPseudoField, ":method=CONNECT|:authority=a:443|:path=/");
        IsMalformed(HeadRefusal.ForbiddenPseudoField, ":method=CONNECT|:authority=a:443|:scheme=https");
        IsMalformed(HeadRefusal.MissingPseudoField, ":method=CONNECT");
        IsAnswered(400, ":method=CONNECT|:authority=a");
        IsAnswered(400, ":method=CONNECT|:authority=a:");
        IsAnswered(400, ":method=CONNECT|:authority=:443");
    }

    // RFC 9112 section 3: a method longer than any that is implemented is 501; only a target can be too long for 414.
    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(30_000)]
    public void A_method_that_fills_the_request_line_is_not_implemented(int more)
    {
        string method = new('M', HeadLimits.Default.RequestLineBytesMax + more);
        IsAnswered(501, $":method={method}|:scheme=https|:path=/|:authority=a");
        IsAnswered(501, $":scheme=https|:path=/|:authority=a|:method={method}");
        IsMalformed(HeadRefusal.BadMethod, $":method=({method[..^1]}|:scheme=https|:path=/|:authority=a");
        Assert.Equal(HeadResult.Refused(HeadRefusal.MethodTooLong), Heads.Parse($"{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
    }

    [Fact]
    public void A_method_that_leaves_room_for_a_target_leaves_the_target_to_be_too_long()
    {
        string method = new('M', HeadLimits.Default.RequestLineBytesMax - 1);
        IsAnswered(414, $":method={method}|:scheme=https|:path=/|:authority=a");
        Assert.Equal(HeadResult.Refused(HeadRefusal.RequestLineTooLong), Heads.Parse($"{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
    }

    [Fact]
    public void The_limits_are_those_of_HTTP_1()
    {
        var limits = new HeadLimits(requestLineBytesMax: 64, headBytesMax: 120, fieldsMax: 3);
        string path = new('/', 64 - "GET  HTTP/1.1\r\n".Length);
        Assert.Equal(HeadRefusal.None, Read(new RequestFields(limits), $":method=GET|:scheme=http|:authority=a|:path={path}"));
        Assert.Equal(HeadRefusal.RequestLineTooLong, Read(new RequestFields(limits), $":method=GET|:scheme=http|:authority=a|:path=/{path}"));
        Assert.Equal(414, HeadRefusals.StatusOf(HeadRefusal.RequestLineTooLong));

        string value = new('v', 120 - "GET / HTTP/1.1\r\nhost: a\r\nx: \r\n\r\n".Length);
        Assert.Equal(HeadRefusal.None, Read(new RequestFields(limits), $"{Get}|x={value}"));
        Assert.Equal(HeadRefusal.HeadTooLarge, Read(new RequestFields(limits), $"{Get}|x=v{value}"));
        Assert.Equal(HeadRefusal.HeadTooLarge, Read(new RequestFields(limits), $"{Get}|x={value}vv"));
        Assert.Equal(HeadRefusal.HeadTooLarge, Read(new RequestFields(limits), $"{Get}|cookie={value}|cookie={value}"));
        Assert.Equal(431, HeadRefusals.StatusOf(HeadRefusal.HeadTooLarge));

        Assert.Equal(HeadRefusal.None, Read(new RequestFields(limits), $"{Get}|x=|y="));
        Assert.Equal(HeadRefusal.TooManyFields, Read(new RequestFields(limits), $"{Get}|x=|y=|z="));
        Assert.Equal(HeadRefusal.TooManyFields, Read(new RequestFields(limits), $"{Get}|x=|y=|cookie="));
        Assert.Equal(431, HeadRefusals.StatusOf(HeadRefusal.TooManyFields));
    }

    [Fact]
    public void A_refusal_is_the_first_one_and_is_forgotten_with_the_next_request()
    {
        var fields = new RequestFields(HeadLimits.Default);
        Assert.Equal(HeadRefusal.UpperCaseName, Read(fields, $"{Get}|A=b|connection=close|:path=/"));
        Assert.Equal(HeadRefusal.None, Read(fields, Get));
        Assert.Equal("GET / HTTP/1.1\r\nhost: a\r\n\r\n", Latin1.Text(fields.Bytes));
    }

    [Fact]
    public void A_refusal_with_another_status_than_400_is_answered()
    {
        Assert.False(HeadRefusals.IsMalformed(HeadRefusal.None));
        foreach (HeadRefusal refusal in Enum.GetValues<HeadRefusal>().Where(static one => one != HeadRefusal.None))
        {
            Assert.True(HeadRefusals.StatusOf(refusal) == 400 || !HeadRefusals.IsMalformed(refusal));
        }
    }

    // Section 8.1: trailers MUST NOT include pseudo-fields, and their fields are checked as others are.
    [Theory]
    [InlineData("x-checksum=1", HeadRefusal.None)]
    [InlineData("a=b|:path=/", HeadRefusal.MisplacedPseudoField)]
    [InlineData(":status=200", HeadRefusal.MisplacedPseudoField)]
    [InlineData("A=b|:path=/", HeadRefusal.UpperCaseName)]
    [InlineData("a=b\n", HeadRefusal.BadFieldValue)]
    [InlineData("connection=close", HeadRefusal.ConnectionField)]
    [InlineData("te=trailers", HeadRefusal.ConnectionField)]
    internal void Trailers_are_checked(string fields, HeadRefusal refusal)
    {
        var trailers = new TrailerFields(bytesMax: 100);
        Feed(trailers, fields);
        Assert.Equal(refusal, trailers.Refusal);
    }

    [Fact]
    public void Trailers_have_the_size_of_a_head()
    {
        var trailers = new TrailerFields(bytesMax: 10);
        Feed(trailers, "ab=cde|f=ghij");
        Assert.Equal(HeadRefusal.None, trailers.Refusal);
        Feed(trailers, "k=");
        Assert.Equal(HeadRefusal.HeadTooLarge, trailers.Refusal);
    }

    private static string Authority(string text)
    {
        (RequestHead head, byte[] bytes) = Heads.Complete(text);
        return head.Authority.Text(bytes);
    }

    private static void Becomes(string text, string fields)
    {
        var sink = new RequestFields(HeadLimits.Default);
        Assert.Equal(HeadRefusal.None, Read(sink, fields));
        Assert.Equal(text, Latin1.Text(sink.Bytes));
    }

    // RFC 9114 section 4.3.1: if these fields are present, they MUST NOT be empty. RFC 9113 does not forbid it.
    [Theory]
    [Trait("Rfc", "9114-4.3.1")]
    [InlineData(":method=GET|:scheme=https|:path=/|:authority=", HeadRefusal.BadAuthority)]
    [InlineData(":method=GET|:scheme=https|:path=/|host=", HeadRefusal.BadHost)]
    [InlineData(":method=GET|:scheme=https|:path=/|:authority=|host=", HeadRefusal.BadAuthority)]
    [InlineData(":method=GET|:scheme=https|:path=/|:authority=a|host=", HeadRefusal.OtherHost)]
    internal void An_empty_host_is_refused_in_HTTP_3_only(string fields, HeadRefusal refusal)
    {
        var sink = new RequestFields(HeadLimits.Default);
        sink.Begin(isHttp3: true);
        Feed(sink, fields);
        Assert.Equal(refusal, sink.Conclude());
        Assert.Equal(refusal == HeadRefusal.OtherHost ? refusal : HeadRefusal.None, Read(sink, fields));
    }

    // RFC 9220 section 3: the same as with HTTP/2.
    [Fact]
    [Trait("Rfc", "9220-3")]
    public void A_tunnel_over_HTTP_3_is_an_upgrade()
    {
        var sink = new RequestFields(HeadLimits.Default);
        sink.Begin(allowsProtocol: true, isHttp3: true);
        Feed(sink, ":method=CONNECT|:protocol=websocket|:scheme=https|:path=/|:authority=a");
        Assert.Equal(HeadRefusal.None, sink.Conclude());
        Assert.Equal("GET / HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n", Latin1.Text(sink.Bytes));
    }

    private static void IsMalformed(HeadRefusal refusal, string fields)
    {
        Assert.Equal(refusal, Read(new RequestFields(HeadLimits.Default), fields));
        Assert.True(HeadRefusals.IsMalformed(refusal));
    }

    private static void IsAnswered(int status, string fields)
    {
        HeadRefusal refusal = Read(new RequestFields(HeadLimits.Default), fields);
        Assert.False(HeadRefusals.IsMalformed(refusal));
        Assert.Equal(status, HeadRefusals.StatusOf(refusal));
    }

    private static HeadRefusal Read(RequestFields sink, string fields)
    {
        sink.Begin();
        Feed(sink, fields);
        return sink.Conclude();
    }

    private static void Feed(IHpackSink sink, string fields)
    {
        foreach (string field in fields.Split('|', StringSplitOptions.RemoveEmptyEntries))
        {
            int equals = field.IndexOf('=', StringComparison.Ordinal);
            sink.OnField(Latin1.Bytes(field[..equals]), Latin1.Bytes(field[(equals + 1)..]), staticIndex: 0);
        }
    }
}
