using System.Net;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>Kestrel's limits rest on what the transport does: hold back, report, and close.</summary>
public class LimitTests
{
    private static Task Response(HttpContext context) => context.Response.WriteAsync("answer");

    [Theory, EachTransport]
    public async Task Connections_beyond_the_limit_are_closed_unread_and_later_ones_are_served(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, Response, static limits => limits.MaxConcurrentConnections = 2);
        RawClient first = await application.ConnectAsync();
        using RawClient second = await application.ConnectAsync();
        await first.GetAsync();
        await second.GetAsync();
        using (RawClient third = await application.ConnectAsync())
        {
            Assert.Equal("", (await third.ReadToEndAsync()).Text);
        }

        first.Dispose();

        await Waiting.UntilAsync(() => application.Log.Entries.Count(static entry => entry.Event.Name == "ConnectionStop") >= 2, application.Log.ToString);
        using RawClient fourth = await application.ConnectAsync();
        Assert.Equal("answer", (await fourth.GetAsync()).Body);
    }

    [Theory, EachTransport]
    public async Task A_body_beyond_the_limit_is_refused(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static async context =>
            {
                await context.Request.Body.CopyToAsync(Stream.Null);
                await Response(context);
            },
            static limits => limits.MaxRequestBodySize = 1000);
        using HttpClient client = application.NewClient();

        using HttpResponseMessage within = await client.PostAsync("/", new PatternContent(1000, Framing.Sized));
        Assert.Equal(HttpStatusCode.OK, within.StatusCode);
        foreach (Framing framing in Enum.GetValues<Framing>())
        {
            using HttpResponseMessage beyond = await client.PostAsync("/", new PatternContent(1001, framing));
            Assert.Equal(HttpStatusCode.RequestEntityTooLarge, beyond.StatusCode);
        }
    }

    [Theory, EachTransport]
    public async Task A_head_beyond_the_limits_is_refused(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(transport, Response);

        Assert.Equal(414, await StatusAsync(application, $"GET /{new string('a', 9000)} HTTP/1.1\r\nHost: site\r\n\r\n"));
        Assert.Equal(431, await StatusAsync(application, $"GET / HTTP/1.1\r\nHost: site\r\nX: {new string('a', 40_000)}\r\n\r\n"));
        string many = string.Concat(Enumerable.Range(0, 101).Select(static i => $"X{i}: 1\r\n"));
        Assert.Equal(431, await StatusAsync(application, $"GET / HTTP/1.1\r\nHost: site\r\n{many}\r\n"));
    }

    [Theory, EachTransport(TakesSeconds = true)]
    [Trait("Duration", "Full")]
    public async Task A_connection_that_stays_idle_is_closed(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, Response, static limits => limits.KeepAliveTimeout = TimeSpan.FromSeconds(1));
        using RawClient client = await application.ConnectAsync();
        await client.GetAsync();

        Assert.Equal(("", Ending.Fin), await client.ReadToEndAsync());
    }

    [Theory, EachTransport(TakesSeconds = true)]
    [Trait("Duration", "Full")]
    public async Task A_head_that_never_ends_is_timed_out(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, Response, static limits => limits.RequestHeadersTimeout = TimeSpan.FromSeconds(1));
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("GET / HTTP/1.1\r\nHost:");

        Assert.StartsWith("HTTP/1.1 408 ", (await client.ReadToEndAsync()).Text, StringComparison.Ordinal);
    }

    [Theory, EachTransport]
    [Trait("Duration", "Full")]
    public async Task A_handshake_that_never_ends_is_timed_out(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            Response,
            endpoint: static endpoint => endpoint.UseHttps(static https =>
            {
                https.ServerCertificate = Certificates.Server;
                https.HandshakeTimeout = TimeSpan.FromSeconds(1);
            }));
        using RawClient client = await application.ConnectAsync();

        Assert.Equal("", (await client.ReadToEndAsync()).Text);
        Assert.DoesNotContain(application.Log.AboveDebug, static entry => entry.Level > LogLevel.Information);
    }

    [Theory, EachTransport(TakesSeconds = true)]
    [Trait("Duration", "Full")]
    public async Task A_body_that_trickles_is_timed_out(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Request.Body.CopyToAsync(Stream.Null),
            static limits => limits.MinRequestBodyDataRate = new MinDataRate(bytesPerSecond: 10_000, TimeSpan.FromSeconds(1.1)));
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync("POST / HTTP/1.1\r\nHost: site\r\nContent-Length: 100000\r\n\r\ndrop");

        Assert.StartsWith("HTTP/1.1 408 ", (await client.ReadToEndAsync()).Text, StringComparison.Ordinal);
    }

    [Theory, EachTransport(TakesSeconds = true)]
    [Trait("Duration", "Full")]
    public async Task A_reader_slower_than_the_rate_is_cut_off(TransportKind transport)
    {
        var aborted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            async context =>
            {
                context.RequestAborted.Register(aborted.SetResult);
                context.Response.ContentLength = 64 << 20;
                byte[] piece = new byte[65_536];
                for (int i = 0; i < 1024 && !context.RequestAborted.IsCancellationRequested; i++)
                {
                    await context.Response.Body.WriteAsync(piece);
                }
            },
            static limits => limits.MinResponseDataRate = new MinDataRate(bytesPerSecond: 1_000_000, TimeSpan.FromSeconds(1.1)));
        using RawClient client = await RawClient.ConnectAsync(application.EndPoint, receiveBufferBytes: 16_384);
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\n\r\n");

        await aborted.Task.Within();
        await application.Log.ExpectAsync("ResponseMinimumDataRateNotSatisfied");
        Assert.Equal(Ending.Reset, (await client.ReadToEndAsync()).Ending);
    }

    [Theory, EachTransport(TakesSeconds = true)]
    [Trait("Duration", "Full")]
    public async Task A_reader_that_keeps_the_rate_is_not_cut_off(TransportKind transport)
    {
        const int BodyBytes = 4_000_000;
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Response.WriteAsync(new string('w', BodyBytes)),
            static limits => limits.MinResponseDataRate = new MinDataRate(bytesPerSecond: 100_000, TimeSpan.FromSeconds(1.1)));
        using RawClient client = await RawClient.ConnectAsync(application.EndPoint, receiveBufferBytes: 65_536);
        await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");

        // Three seconds and more for the whole: longer than the grace, quicker than the rate.
        int taken = 0;
        byte[] buffer = new byte[BodyBytes / 16];
        int read;
        while ((read = await client.Socket.ReceiveAsync(buffer).Within()) > 0)
        {
            taken += read;
            // Sleeps: Kestrel's heartbeat measures the rate, on both transports.
            await Task.Delay((int)(read * 3000L / BodyBytes));
        }

        Assert.InRange(taken, BodyBytes, BodyBytes + 100_000);
    }

    private static async Task<int> StatusAsync(RunningApplication application, string request)
    {
        using RawClient client = await application.ConnectAsync();
        await client.SendAsync(request);
        return (await client.ReadResponseAsync()).Status;
    }
}
