using Millrace.Http;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

public class RefusalTests : SiteFixture
{
    private static readonly string LongLine = $"GET /{new string('a', 9000)} HTTP/1.1\r\nHost: a\r\n\r\n";
    private static readonly string ManyFields =
        $"GET / HTTP/1.1\r\nHost: a\r\n{string.Concat(Enumerable.Range(0, 101).Select(i => $"f{i}: v\r\n"))}\r\n";

    /// <summary>Why a head can be refused, one that is, and what its client gets.</summary>
    private static readonly (HeadRefusal Refusal, string Head, int Status)[] Refused =
    [
        (HeadRefusal.TooManyEmptyLines, "\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (HeadRefusal.BareCr, "GET / HTTP/1.1\rHost: a\r\n\r\n", 400),
        (HeadRefusal.BareLf, "GET / HTTP/1.1\nHost: a\n\n", 400),
        (HeadRefusal.BadMethod, "G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (HeadRefusal.BadTarget, "GET index.html HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (HeadRefusal.MissingVersion, "GET /\r\n\r\n", 400),
        (HeadRefusal.BadVersion, "GET / HTTX/1.1\r\nHost: a\r\n\r\n", 400),
        (HeadRefusal.ObsFold, "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n", 400),
        (HeadRefusal.WhitespaceBeforeFirstField, "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400),
        (HeadRefusal.EmptyFieldName, "GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400),
        (HeadRefusal.SpaceBeforeColon, "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        (HeadRefusal.MissingColon, "GET / HTTP/1.1\r\nHost: a\r\nfield\r\n\r\n", 400),
        (HeadRefusal.BadFieldName, "GET / HTTP/1.1\r\nHost: a\r\nf@: b\r\n\r\n", 400),
        (HeadRefusal.BadFieldValue, "GET / HTTP/1.1\r\nHost: a\r\nA: b\0c\r\n\r\n", 400),
        (HeadRefusal.MissingHost, "GET / HTTP/1.1\r\n\r\n", 400),
        (HeadRefusal.RepeatedHost, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400),
        (HeadRefusal.BadHost, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
        (HeadRefusal.BadContentLength, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\nGET ", 400),
        (HeadRefusal.RepeatedContentLength, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nGET ", 400),
        (HeadRefusal.BadTransferEncoding, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;a\r\n\r\n0\r\n\r\n", 400),
        (HeadRefusal.RepeatedChunked, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400),
        (HeadRefusal.ChunkedNotFinal, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        (HeadRefusal.TransferEncodingWithContentLength,
            "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n", 400),
        (HeadRefusal.TransferEncodingOnHttp10, "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (HeadRefusal.RequestLineTooLong, LongLine, 414),
        (HeadRefusal.MethodTooLong, $"{new string('M', 9_000)} / HTTP/1.1\r\nHost: a\r\n\r\n", 501),
        (HeadRefusal.HeadTooLarge, $"GET / HTTP/1.1\r\nHost: a\r\nA: {new string('a', 33_000)}\r\n\r\n", 431),
        (HeadRefusal.TooManyFields, ManyFields, 431),
        (HeadRefusal.UnknownTransferCoding, "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (HeadRefusal.VersionNotSupported, "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    ];

    /// <summary>All but those for the fields of HTTP/2, and for responses.</summary>
    public static TheoryData<string> Reasons =>
    [
        .. Enum.GetValues<HeadRefusal>()
            .Where(static reason => reason is > HeadRefusal.None and < HeadRefusal.BadStatusLine
                and (< HeadRefusal.UnknownPseudoField or > HeadRefusal.BadAuthority))
            .Select(static reason => $"{reason}"),
    ];

    [Theory]
    [MemberData(nameof(Reasons))]
    public async Task A_refused_head_gets_its_status_and_the_end_and_what_follows_is_no_request(string reason)
    {
        Folder.AddSized(1);
        (_, string head, int status) = Assert.Single(Refused, refused => refused.Refusal.ToString() == reason);
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync(head + "GET /f1.bin HTTP/1.1\r\nHost: a\r\n\r\n");

        Response response = await wire.ReadResponseAsync();

        Assert.Equal(status, response.Status);
        Assert.Equal("close", response.Field("Connection"));
        Assert.NotNull(response.Field("Date"));
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task Empty_lines_without_a_request_are_refused_one_by_one_as_well()
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        Task<Response> response = wire.ReadResponseAsync();
        while (!response.IsCompleted)
        {
            await wire.SendAsMuchAsWelcomeAsync("\r\n"u8.ToArray());
            await Task.WhenAny(response, Task.Delay(5));
        }

        Assert.Equal(400, (await response).Status);
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task Requests_before_a_refused_one_are_answered()
    {
        Folder.AddSizes();
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync(
            string.Concat(SiteFolder.Sizes.Select(size => $"GET {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n\r\n")) + "nonsense\r\n\r\n");

        foreach (int size in SiteFolder.Sizes)
        {
            (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(size));
        }

        Assert.Equal(400, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    /// <summary>Linger: closing with bytes unread would be a reset that can overtake the response (RFC 9112, 9.6).</summary>
    [Theory]
    [InlineData("GET /\r\n\r\n", 400)]
    [InlineData("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505)]
    [InlineData("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n", 405)]
    [InlineData("GET /f1.bin HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n", 413)]
    public async Task A_response_reaches_a_client_that_goes_on_sending(string head, int status)
    {
        Folder.AddSized(1);
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync(head);
        await wire.SendAsync(new byte[900_000]);

        Response response = await wire.ReadResponseAsync();

        Assert.Equal(status, response.Status);
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("GET /\r\n\r\n", 400)]
    [InlineData("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 90000000\r\n\r\n", 405)]
    public async Task A_response_can_be_read_even_by_a_client_that_is_cut_off_for_sending_on(string head, int status)
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync(head);
        await wire.SendAsMuchAsWelcomeAsync(new byte[16 * 1024 * 1024]);

        Response response = await wire.ReadResponseAsync();

        Assert.Equal(status, response.Status);
    }
}
