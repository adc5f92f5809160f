using System.Net;
using System.Net.Sockets;
using System.Text;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Engine;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Connecting;

/// <summary>The proxy, run as it stands between a client and an upstream on another transport.</summary>
public class ProxySampleTests
{
    private const int BodyBytes = 10_000_000;
    private const string Mark = "Now listening on: ";

    [Theory]
    [Trait("Duration", "Full")]
    [InlineData("sized")]
    [InlineData("chunked")]
    public async Task Ten_megabytes_pass_each_way_unchanged(string framing)
    {
        await using RunningApplication upstream = await RunningApplication.StartAsync(
            TransportKind.Sockets, ResponseAsync, limits: static limits => limits.MaxRequestBodySize = null);
        (ChildServer proxy, Uri url) = await StartAsync(upstream.Url);
        await using (proxy)
        {
            Assert.True(proxy.HasReactors);
            using HttpClient client = NewClient(url);
            string hash = PatternContent.HashOf(BodyBytes);
            for (int i = 0; i < 3; i++)
            {
                using var body = new PatternContent(BodyBytes, framing == "sized" ? Framing.Sized : Framing.Chunked);
                using HttpResponseMessage uploaded = await client.PutAsync("/hash", body);
                Assert.Equal(hash, await uploaded.Content.ReadAsStringAsync());

                using HttpResponseMessage downloaded = await client.GetAsync($"/{framing}", HttpCompletionOption.ResponseHeadersRead);
                Assert.Equal(framing == "sized" ? BodyBytes : null, downloaded.Content.Headers.ContentLength);
                Assert.Equal(hash, await PatternContent.HashAsync(await downloaded.Content.ReadAsStreamAsync()));
            }
        }
    }

    [Fact]
    public async Task Both_bodies_flow_as_they_come()
    {
        const int PieceBytes = 100_000;
        var arrived = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var released = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication upstream = await RunningApplication.StartAsync(TransportKind.Sockets, async context =>
        {
            byte[] piece = new byte[PieceBytes / 2];
            await context.Request.Body.ReadExactlyAsync(piece);
            arrived.SetResult();
            await context.Request.Body.CopyToAsync(Stream.Null);
            await context.Response.WriteAsync("first");
            await released.Task;
            await context.Response.WriteAsync("second");
        });
        (ChildServer proxy, Uri url) = await StartAsync(upstream.Url);
        await using (proxy)
        {
            using RawClient client = await RawClient.ConnectAsync(new IPEndPoint(IPAddress.Loopback, url.Port));
            await client.SendAsync($"POST /flow HTTP/1.1\r\nHost: site\r\nContent-Length: {2 * PieceBytes}\r\n\r\n");
            await client.SendAsync(new byte[PieceBytes]);
            await arrived.Task.Within();
            await client.SendAsync(new byte[PieceBytes]);
            await ReceiveAsync(client, "first");
            released.SetResult();
            await ReceiveAsync(client, "second");
        }
    }

    [Fact]
    public async Task Fields_pass_but_for_those_of_one_connection()
    {
        await using RunningApplication upstream = await RunningApplication.StartAsync(TransportKind.Sockets, ResponseAsync);
        (ChildServer proxy, Uri url) = await StartAsync(upstream.Url);
        await using (proxy)
        {
            using HttpClient client = NewClient(url);
            using var request = new HttpRequestMessage(HttpMethod.Get, $"{url.GetLeftPart(UriPartial.Authority)}//elsewhere/fields?a=%20b");
            request.Headers.TryAddWithoutValidation("Connection", "Private");
            request.Headers.TryAddWithoutValidation("Private", "secret");
            request.Headers.TryAddWithoutValidation("Public", "known");
            using HttpResponseMessage response = await client.SendAsync(request);
            Assert.Equal(HttpStatusCode.Accepted, response.StatusCode);
            Assert.Equal(["one", "two"], response.Headers.GetValues("Two"));
            string[] seen = (await response.Content.ReadAsStringAsync()).Split('\n');
            Assert.Contains("//elsewhere/fields?a=%20b", seen);
            Assert.Contains("Public: known", seen);
            Assert.Contains("Via: 1.1 millrace", seen);
            Assert.Contains("X-Forwarded-For: 127.0.0.1", seen);
            Assert.Contains($"Host: {upstream.Url.Authority}", seen);
            Assert.DoesNotContain(seen, static field => field.StartsWith("Private", StringComparison.Ordinal));
        }
    }

    [Fact]
    public async Task An_upstream_that_is_not_there_is_a_bad_gateway()
    {
        using var silent = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        silent.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        (ChildServer proxy, Uri url) = await StartAsync(new Uri($"http://{silent.LocalEndPoint}"));
        await using (proxy)
        {
            using HttpClient client = NewClient(url);
            Assert.Equal(HttpStatusCode.BadGateway, (await client.GetAsync("/")).StatusCode);
            await Waiting.UntilAsync(
                () => proxy.Output.Contains("nothing listens there", StringComparison.Ordinal), () => proxy.Output);
        }
    }

    [Fact]
    public async Task An_answer_that_breaks_off_is_cut_and_one_that_never_began_is_a_bad_gateway()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        (ChildServer proxy, Uri url) = await StartAsync(new Uri($"http://{listener.LocalEndPoint}"));
        await using (proxy)
        {
            using HttpClient client = NewClient(url);
            Task<HttpResponseMessage> cut = client.GetAsync("/", HttpCompletionOption.ResponseHeadersRead);
            using (Socket accepted = await ReceiveRequestAsync(listener))
            {
                await accepted.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome"u8.ToArray());
                using HttpResponseMessage began = await cut.Within();
                accepted.LingerState = new LingerOption(true, 0);
                accepted.Dispose();
                await Assert.ThrowsAnyAsync<Exception>(() => began.Content.ReadAsStringAsync().Within());
            }

            Task<HttpResponseMessage> nothing = client.PostAsync("/", new StringContent("x"));
            using (Socket accepted = await ReceiveRequestAsync(listener))
            {
                accepted.LingerState = new LingerOption(true, 0);
            }

            Assert.Equal(HttpStatusCode.BadGateway, (await nothing.Within()).StatusCode);
        }
    }

    private static async Task ResponseAsync(HttpContext context)
    {
        switch (context.Request.Path.Value)
        {
            case "/hash":
                await context.Response.WriteAsync(await PatternContent.HashAsync(context.Request.Body));
                break;
            case "/sized" or "/chunked":
                context.Response.ContentLength = context.Request.Path == "/sized" ? BodyBytes : null;
                foreach (ReadOnlyMemory<byte> piece in PatternContent.Pieces(BodyBytes))
                {
                    await context.Response.Body.WriteAsync(piece);
                }

                break;
            default:
                context.Response.StatusCode = StatusCodes.Status202Accepted;
                context.Response.Headers["Two"] = (string[])["one", "two"];
                IEnumerable<string> seen = context.Request.Headers.Select(static field => $"{field.Key}: {field.Value}");
                string target = $"{context.Request.Path}{context.Request.QueryString}";
                await context.Response.WriteAsync(string.Join('\n', seen.Prepend(target)));
                break;
        }
    }

    private static async Task<Socket> ReceiveRequestAsync(Socket listener)
    {
        Socket accepted = await listener.AcceptAsync().Within();
        Assert.True(await accepted.ReceiveAsync(new byte[4_096]).Within() > 0);
        return accepted;
    }

    private static async Task ReceiveAsync(RawClient client, string expected)
    {
        byte[] buffer = new byte[4_096];
        for (string text = ""; !text.Contains(expected, StringComparison.Ordinal);)
        {
            int received = await client.Socket.ReceiveAsync(buffer).Within();
            Assert.True(received > 0, $"The end came instead of '{expected}'.");
            text += Encoding.Latin1.GetString(buffer, 0, received);
        }
    }

    private static Task<(ChildServer Server, Uri Url)> StartAsync(Uri upstream)
    {
        Dictionary<string, string> settings = new()
        {
            ["UPSTREAM"] = upstream.ToString(),
            ["ASPNETCORE_URLS"] = "http://127.0.0.1:0",
        };
        // It chooses its backend itself: where the run is about epoll, by what it is refused.
        return AskedBackend.Kind == BackendKind.Epoll
            ? ChildServer.StartAsync(Mark, settings, Path.Combine(Places.Repository, "tests", "Shared", "refuse-io-uring"), SampleProgram.Of("Proxy"))
            : ChildServer.StartAsync(Mark, settings, SampleProgram.Of("Proxy"));
    }

    private static HttpClient NewClient(Uri url) =>
        new(new SocketsHttpHandler { UseProxy = false }) { BaseAddress = url, Timeout = Waiting.Patience };
}
