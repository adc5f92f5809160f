using System.Text;
using Millrace.HttpServer.Tests.Kit;

namespace Millrace.HttpServer.Tests;

public class RequestBodyTests : SiteFixture
{
    private const string Inner = "GET /secret.bin HTTP/1.1\r\nHost: a\r\n\r\n";
    private const string Next = "GET /f1000.bin HTTP/1.1\r\nHost: a\r\n\r\n";

    public RequestBodyTests()
    {
        Folder.AddSized(1000);
        Folder.Add("/secret.bin", SiteFolder.Bytes(77));
    }

    public static TheoryData<string, int> BodiesThatHoldARequest => new()
    {
        { $"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: {Inner.Length}\r\n\r\n{Inner}", 405 },
        { $"GET /none HTTP/1.1\r\nHost: a\r\nContent-Length: {Inner.Length}\r\n\r\n{Inner}", 404 },
        { $"OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: {Inner.Length}\r\n\r\n{Inner}", 204 },
        { $"BREW /x HTTP/1.1\r\nHost: a\r\nContent-Length: {Inner.Length}\r\n\r\n{Inner}", 501 },
        { $"POST /%zz HTTP/1.1\r\nHost: a\r\nContent-Length: {Inner.Length}\r\n\r\n{Inner}", 400 },
        { $"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{Inner.Length:x}\r\n{Inner}\r\n0\r\n\r\n", 405 },
        {
            "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
            + $"4;a=b\r\nGET \r\n{Inner.Length:X}\r\n{Inner}\r\n0\r\nTrailer: a\r\n\r\n",
            405
        },
    };

    [Theory]
    [MemberData(nameof(BodiesThatHoldARequest))]
    public async Task A_request_within_a_body_is_never_answered(string request, int status)
    {
        RunningSite site = await StartAsync();
        byte[] bytes = Encoding.Latin1.GetBytes(request + Next);

        // Uncut first, then cut at every byte.
        for (int cut = 0; cut < bytes.Length; cut++)
        {
            using Wire wire = await site.ConnectAsync();
            await wire.SendAsync(bytes.AsMemory(0, cut));
            await wire.SendAsync(bytes.AsMemory(cut));

            Assert.Equal(status, (await wire.ReadResponseAsync()).Status);
            (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
            wire.FinishSending();
            await wire.AssertEndsAsync();
        }
    }

    [Theory]
    [InlineData(1)]
    [InlineData(4096)]
    [InlineData(64 * 1024)]
    public async Task Small_bodies_are_skipped_and_the_connection_goes_on(int bodyBytes)
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        string body = new('G', bodyBytes);
        await wire.SendAsync($"GET /f1000.bin HTTP/1.1\r\nHost: a\r\nContent-Length: {bodyBytes}\r\n\r\n{body}");
        await wire.SendAsync($"GET /f1000.bin HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{bodyBytes:x}\r\n{body}\r\n0\r\n\r\n{Next}");

        for (int i = 0; i < 3; i++)
        {
            (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        }
    }

    [Theory]
    [InlineData("GET", 65_537, 413)]
    [InlineData("HEAD", 65_537, 413)]
    [InlineData("OPTIONS", 65_537, 413)]
    [InlineData("POST", 65_537, 405)]
    [InlineData("BREW", 65_537, 501)]
    [InlineData("PUT", long.MaxValue, 405)]
    [InlineData("GET", long.MaxValue, 413)]
    public async Task A_large_body_costs_the_connection(string method, long bodyBytes, int status)
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync($"{method} /f1000.bin HTTP/1.1\r\nHost: a\r\nContent-Length: {bodyBytes}\r\n\r\n{Inner}");

        Response response = await wire.ReadResponseAsync(method);

        Assert.Equal(status, response.Status);
        Assert.Equal("close", response.Field("Connection"));
        Assert.Equal(status == 405, response.Field("Allow") is not null);
        await wire.AssertEndsAsync();
    }

    [Fact]
    public async Task A_chunked_body_that_does_not_end_costs_the_connection()
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        string chunk = $"1000\r\n{new string('G', 4096)}\r\n";
        await wire.SendAsync("POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
        await wire.SendAsync(string.Concat(Enumerable.Repeat(chunk, 17)) + "0\r\n\r\n" + Next);

        Assert.Equal(405, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("x\r\n")]
    [InlineData("\r\n")]
    [InlineData("4\nGET \r\n0\r\n\r\n")]
    [InlineData("4\r\nGET X\r\n0\r\n\r\n")]
    [InlineData("-1\r\n")]
    [InlineData("0x4\r\nGET \r\n0\r\n\r\n")]
    [InlineData("10000000000000000\r\n")]
    public async Task A_malformed_chunk_ends_the_connection(string body)
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync($"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}{Next}");

        Assert.Equal(405, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("GET", "Content-Length: 4", 200)]
    [InlineData("POST", "Content-Length: 4", 405)]
    [InlineData("PUT", "Transfer-Encoding: chunked", 405)]
    [InlineData("GET", "Content-Length: 70000", 413)]
    public async Task Who_asks_before_sending_a_body_gets_the_final_response_at_once(string method, string framing, int status)
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync($"{method} /f1000.bin HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n{framing}\r\n\r\n");

        Response response = await wire.ReadResponseAsync();

        Assert.Equal(status, response.Status);
        Assert.Equal("close", response.Field("Connection"));
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData("Expect: 100-continue\r\n")]
    [InlineData("Expect: 100-continue\r\nContent-Length: 0\r\n")]
    [InlineData("Content-Length: 0\r\n")]
    public async Task Without_a_body_there_is_nothing_to_wait_for(string fields)
    {
        Wire wire = await (await StartAsync()).ConnectAsync();
        await wire.SendAsync($"GET /f1000.bin HTTP/1.1\r\nHost: a\r\n{fields}\r\n{Next}");

        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
        (await wire.ReadResponseAsync()).AssertIsWhole(SiteFolder.Bytes(1000));
    }
}
