using System.Globalization;
using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.HttpServer.Tests.Upstreams.Kit;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Proxying.Conformance;

/// <summary>
/// Final responses that come while the request's body is still sent (RFC 9110, section 10.1.1; RFC 9112, section 9.6; RFC 9113, section 8.1):
/// the client gets them whole, and is asked to stop; nothing of the body's remainder becomes a request.
/// </summary>
public sealed class EarlyResponseTests : ProxyTest
{
    private const string Refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno";
    private const int Bytes = 4 * 1024 * 1024;

    /// <summary>What the upstream does after its response; a close with unread bytes is a reset.</summary>
    public static TheoryData<string> Afterwards => ["reads on", "reads no more", "ends its direction", "closes"];

    [Theory]
    [MemberData(nameof(Afterwards))]
    public async Task A_client_of_http_1_1_that_is_still_sending_gets_the_response_whole(string then)
    {
        await StartProxyAsync();
        byte[] request = Encoding.Latin1.GetBytes(
            string.Create(CultureInfo.InvariantCulture, $"PUT /api/ HTTP/1.1\r\nHost: a\r\nContent-Length: {Bytes}\r\n\r\n{new string('x', Bytes)}"));
        for (int round = 0; round < 10; round++)
        {
            Wire client = await Site.ConnectAsync();
            Task sending = client.SendAsMuchAsWelcomeAsync(request);
            UpstreamWire upstream = await Upstream.AcceptAsync();
            await upstream.ReadHeadAsync();
            await upstream.SendAsync(Refusal);
            Task reading = ThenAsync(upstream, then);
            (byte[] bytes, WireEnd end) = await client.ReadToEndAsync();
            Outcome outcome = ProxyConformanceTest.OutcomeOf(bytes, isHead: false, end);
            Assert.Equal((413, "no", true, ""), (outcome.Status, outcome.Body, outcome.IsWhole, outcome.Rest));
            Assert.Contains("\r\nConnection: close\r\n", outcome.Head, StringComparison.Ordinal);
            Assert.Equal(WireEnd.Finished, end);
            client.Dispose();
            await sending.ContinueWith(static _ => { }, TaskScheduler.Default);
            await reading;
            upstream.Dispose();
        }
    }

    [Theory]
    [MemberData(nameof(Afterwards))]
    public async Task A_stream_of_http_2_that_is_still_open_gets_the_response_whole_and_no_error(string then)
    {
        await StartProxyAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        byte[] data = new byte[16_384];
        for (int streamId = 1; streamId < 20; streamId += 2)
        {
            await client.SendAsync(
                Frame.Headers(streamId, Block.Request("PUT", "/api/"), FrameFlags.EndHeaders),
                Frame.Data(streamId, data, FrameFlags.None),
                Frame.Data(streamId, data, FrameFlags.None));
            UpstreamWire upstream = await Upstream.AcceptAsync();
            await upstream.ReadHeadAsync();
            await upstream.SendAsync(Refusal);
            Task reading = ThenAsync(upstream, then);
            Exchange exchange = await client.ReadAsync(streamId);
            Assert.Equal("413", exchange.Fields.Single(static field => field.Name == ":status").Value);
            Assert.Equal(("no", true), (exchange.Text, exchange.IsWhole));
            Frame reset = await client.ReadUntilAsync(FrameType.RstStream);
            Assert.Equal((streamId, Http2Error.NoError), (reset.StreamId, reset.Error));

            // What was on its way: the connection's window is given back, so that all streams together send far more than it.
            await client.SendAsync(Frame.Data(streamId, data, FrameFlags.None));
            await reading;
            upstream.Dispose();
        }

        Assert.Equal(404, (await client.GetAsync(101, "/none")).Status);
    }

    [Fact]
    public async Task A_response_that_begins_before_the_bodys_end_goes_on_in_both_directions_over_http_1_1()
    {
        (Wire client, UpstreamWire upstream, _) = await BeginAsync("POST /api/ HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
        Assert.Equal("abc", await upstream.ReadAsync(3));
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nABC");
        Response head = await client.ReadHeadAsync();
        Assert.Equal((200, "close"), (head.Status, head.Field("Connection")));
        Assert.Equal("ABC"u8.ToArray(), await client.ReadBytesAsync(3));
        await client.SendAsync("def");
        Assert.Equal("def", await upstream.ReadAsync(3));
        await upstream.SendAsync("DEF");
        Assert.Equal("DEF"u8.ToArray(), await client.ReadBytesAsync(3));
        await client.AssertEndsAsync();
    }

    [Fact]
    public async Task A_response_that_begins_before_the_bodys_end_goes_on_in_both_directions_over_http_2()
    {
        await StartProxyAsync();
        Http2Wire client = await Http2Wire.OpenAsync(Site);
        await client.SendAsync(
            Frame.Headers(1, Block.Request("POST", "/api/", "content-length: 6"), FrameFlags.EndHeaders), Frame.Data(1, "abc"u8, FrameFlags.None));
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        Assert.Equal("abc", await upstream.ReadAsync(3));
        await upstream.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nABC");
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Data));
        await client.SendAsync(Frame.Data(1, "def"u8));
        Assert.Equal("def", await upstream.ReadAsync(3));
        await upstream.SendAsync("DEF");
        Exchange exchange = await client.ReadAsync(1);
        Assert.Equal(("ABCDEF", true), (exchange.Text, exchange.IsWhole));
        await client.SendAsync(Frame.Headers(3, Block.Get("/api/next")));
        Assert.StartsWith("GET /api/next ", await upstream.ReadHeadAsync(), StringComparison.Ordinal);
    }

    /// <summary>What follows an abandoned body looks like a request, and is none.</summary>
    [Fact]
    public async Task The_remainder_of_a_body_is_no_request()
    {
        await StartProxyAsync();
        Wire client = await Site.ConnectAsync();
        await client.SendAsync("PUT /api/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
        UpstreamWire upstream = await Upstream.AcceptAsync();
        await upstream.ReadHeadAsync();
        await upstream.SendAsync(Refusal);
        Assert.Equal(413, (await client.ReadResponseAsync()).Status);
        await client.SendAsMuchAsWelcomeAsync(Encoding.ASCII.GetBytes("GET /api/smuggled HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.FinishSending();
        await client.AssertEndsAsync();
        await upstream.AssertEndsAsync();
        Assert.False(Upstream.HasPending);
    }

    private static async Task ThenAsync(UpstreamWire upstream, string then)
    {
        switch (then)
        {
            case "reads on":
                try
                {
                    await upstream.ReadToEndAsync();
                }
                catch (System.Net.Sockets.SocketException reset) when (reset.SocketErrorCode == System.Net.Sockets.SocketError.ConnectionReset)
                {
                    // The request was cut.
                }

                break;
            case "ends its direction":
                upstream.FinishSending();
                break;
            case "closes":
                upstream.Dispose();
                break;
        }
    }
}
