using System.Diagnostics;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.Engine;
using Millrace.Engine.Diagnostics;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>Handlers that read and write bodies synchronously: they get the answers that the sockets transport gives them.</summary>
public class SynchronousBodyTests
{
    private const int LargeBytes = 3 * 1024 * 1024;

    /// <summary>Each way to block for a body, where the server allows it, the handler does, and where nobody is asked.</summary>
    public static TheoryData<string, bool> Ways => new()
    {
        { "Read", true },
        { "ReadToEnd", true },
        { "Read", false },
        { "ReadToEnd", false },
        { "ReadToEndAsync().Result", false },
        { "ReadAsync().Result", false },
        { "BodyReader.ReadAsync().Result", false },
        { "ReadAsync().Result on the pool", false },
    };

    [Theory, MemberData(nameof(Ways))]
    public async Task A_slow_body_is_read_synchronously_and_the_reactor_goes_on(string way, bool isAllowedByServer)
    {
        using var entered = new SemaphoreSlim(0);
        await using GuardedApplication guarded = await StartAsync(isAllowedByServer, async context =>
        {
            entered.Release();
            await context.Response.WriteAsync($"got {Encoding.ASCII.GetString(ReadAll(context, way))}");
        });
        using RawClient neighbour = await ConnectAsync(guarded);
        using RawClient client = await ConnectAsync(guarded);

        foreach (bool isChunked in (bool[])[false, true])
        {
            await client.SendAsync(Head(isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 10"));
            Assert.True(await entered.WaitAsync(Waiting.Patience));
            Assert.Equal(200, (await neighbour.GetAsync("/where")).Status);
            await client.SendAsync(isChunked ? "5\r\nbytes\r\n" : "bytes");
            Assert.Equal(200, (await neighbour.GetAsync("/where")).Status);
            await client.SendAsync(isChunked ? "5\r\nflour\r\n0\r\n\r\n" : "flour");

            Response response = await client.ReadResponseAsync();
            Assert.Equal((200, "got bytesflour"), (response.Status, response.Body));
        }

        Assert.Equal(0, guarded.Group.Reactors[0].Counters.WaitsFailed);
    }

    [Theory, MemberData(nameof(Ways))]
    public async Task A_large_body_is_read_synchronously(string way, bool isAllowedByServer)
    {
        await using GuardedApplication guarded = await StartAsync(
            isAllowedByServer, context => context.Response.WriteAsync(Convert.ToHexString(SHA256.HashData(ReadAll(context, way)))));
        using HttpClient client = guarded.Application.NewClient();
        byte[] body = Encoding.ASCII.GetBytes(RandomNumberGenerator.GetHexString(LargeBytes));
        string expected = Convert.ToHexString(SHA256.HashData(body));

        for (int i = 0; i < 4; i++)
        {
            using HttpContent content = i % 2 == 0 ? new ByteArrayContent(body) : new UnsizedContent(body);
            using HttpResponseMessage response = await client.PostAsync(new Uri("/read", UriKind.Relative), content).Within();
            Assert.Equal((HttpStatusCode.OK, expected), (response.StatusCode, await response.Content.ReadAsStringAsync()));
        }

        Assert.Equal(0, guarded.Group.Reactors[0].Counters.WaitsFailed);
    }

    [Fact]
    public async Task A_slow_body_over_tls_is_read_synchronously_whoever_terminates_it()
    {
        foreach (bool isOurs in (bool[])[false, true])
        {
            await using RunningApplication application = await RunningApplication.StartAsync(
                TransportKind.Millrace,
                static context =>
                {
                    Assert.Null(Reactor.Current);
                    context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
                    using var reader = new StreamReader(context.Request.Body);
                    return context.Response.WriteAsync($"got {reader.ReadToEnd().Length}");
                },
                endpoint: listen =>
                {
                    listen.Protocols = HttpProtocols.Http1;
                    _ = isOurs
                        ? listen.UseMillraceHttps(static https => https.ServerCertificate = Certificates.Server)
                        : listen.UseHttps(Certificates.Server);
                });
            using HttpClient client = application.NewClient();
            for (int i = 0; i < 3; i++)
            {
                using var content = new ByteArrayContent(new byte[LargeBytes]);
                using HttpResponseMessage response = await client.PostAsync(new Uri("/read", UriKind.Relative), content).Within();
                Assert.Equal($"got {LargeBytes}", await response.Content.ReadAsStringAsync());
            }
        }
    }

    [Theory]
    [InlineData("Content-Length: 5", "bytes")]
    [InlineData("Transfer-Encoding: chunked", "5\r\nbytes\r\n0\r\n\r\n")]
    [InlineData("Transfer-Encoding: chunked", "5;a=b\r\nbytes\r\n0\r\nTrailer: x\r\n\r\n")]
    public async Task A_request_whose_body_has_arrived_stays_on_its_reactor(string framing, string body)
    {
        await using GuardedApplication guarded = await StartAsync(isAllowedByServer: false, static async context =>
        {
            string begun = GuardedApplication.Where();
            using var reader = new StreamReader(context.Request.Body);
            await context.Response.WriteAsync($"{begun} {await reader.ReadToEndAsync()}");
        });
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        for (int i = 0; i < 3; i++)
        {
            await client.SendAsync(Head(framing) + body);
            Assert.Equal("0 bytes", (await client.ReadResponseAsync()).Body);
        }
    }

    [Theory]
    [InlineData("Content-Length: 5", "byte", "s")]
    [InlineData("Transfer-Encoding: chunked", "5\r\nbytes\r\n0\r\n", "\r\n")]
    public async Task A_request_whose_body_is_still_to_come_leaves_and_the_next_one_is_on_the_reactor(string framing, string body, string rest)
    {
        using var entered = new SemaphoreSlim(0);
        await using GuardedApplication guarded = await StartAsync(isAllowedByServer: false, async context =>
        {
            string begun = GuardedApplication.Where();
            entered.Release();
            using var reader = new StreamReader(context.Request.Body);
            await context.Response.WriteAsync($"{begun} {await reader.ReadToEndAsync()} {GuardedApplication.Where()}");
        });
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        for (int i = 0; i < 3; i++)
        {
            await client.SendAsync(Head(framing) + body);
            Assert.True(await entered.WaitAsync(Waiting.Patience));
            await client.SendAsync(rest);
            Assert.Equal("-1 bytes -1", (await client.ReadResponseAsync()).Body);
            Assert.Equal("0", (await client.GetAsync("/where")).Body);
        }
    }

    [Fact]
    public async Task All_requests_leave_where_the_server_allows_synchronous_io()
    {
        await using GuardedApplication guarded = await StartAsync(isAllowedByServer: true, static _ => Task.CompletedTask);
        using RawClient client = await guarded.Application.ConnectAsync();
        for (int i = 0; i < 3; i++)
        {
            Assert.Equal("-1", (await client.GetAsync("/where")).Body);
        }
    }

    [Theory]
    [InlineData("Write")]
    [InlineData("WriteAsync().Wait()")]
    [InlineData("in small writes")]
    [Trait("Duration", "Full")]
    public async Task A_synchronous_write_to_one_who_does_not_read_yet_does_not_hold_the_reactor_up(string manner)
    {
        const int Pieces = 512;
        byte[] piece = new byte[16 * 1024];
        byte[] whole = new byte[Pieces * piece.Length];
        var written = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(1, routes => routes.MapGet("/write", context =>
        {
            context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
            context.Response.ContentLength = whole.Length;
            Assert.Equal("0", GuardedApplication.Where());
            switch (manner)
            {
                case "Write":
                    context.Response.Body.Write(whole);
                    break;
                case "WriteAsync().Wait()":
                    context.Response.Body.WriteAsync(whole).AsTask().Wait();
                    break;
                default:
                    for (int i = 0; i < Pieces; i++)
                    {
                        context.Response.Body.Write(piece);
                    }

                    break;
            }

            written.SetResult();
            return Task.CompletedTask;
        }));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        long before = guarded.Group.Reactors[0].Counters.Stalls;

        await client.SendAsync("GET /write HTTP/1.1\r\nHost: site\r\n\r\n");
        await written.Task.Within();

        Assert.Equal(before, guarded.Group.Reactors[0].Counters.Stalls);
        Assert.Equal(whole.Length, (await client.ReadResponseAsync()).Body.Length);
        Assert.Equal("0", (await client.GetAsync("/where")).Body);
    }

    /// <summary>
    /// It is more than socket and pipe take: on the reactor its write ends because the watch has it end, soon, and elsewhere when it is
    /// read. Counted in checks of the watchdog, which last as long as the machine is slow: it took 25, and of several writes one that is not
    /// disturbed takes a few. Before its thread sleeps it spins, and yields: on a busy machine checks may find it runnable in each of the first
    /// rounds, so there are more until one has found it blocked.
    /// </summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_synchronous_write_of_200_KB_keeps_its_reactor_for_a_few_checks_and_others_are_answered(bool isAllowedByServer)
    {
        const int Rounds = 6;
        byte[] whole = new byte[200 * 1024];
        string place = isAllowedByServer ? "-1" : "0";
        string where = "";
        using var entered = new SemaphoreSlim(0);
        using var written = new SemaphoreSlim(0);
        var time = new ScriptedTime();
        await using GuardedApplication guarded = await StartAsync(isAllowedByServer, time, context =>
        {
            context.Response.ContentLength = whole.Length;
            where = GuardedApplication.Where();
            entered.Release();
            context.Response.Body.Write(whole);
            written.Release();
            return Task.CompletedTask;
        });
        using RawClient neighbour = await ConnectAsync(guarded);
        ReactorCounters counters = guarded.Group.Reactors[0].Counters;
        List<long> blockedMs = [];
        var watch = Stopwatch.StartNew();
        for (int i = 0; i < Rounds || (blockedMs is [_, ..] && blockedMs.Max() == 0 && watch.Elapsed < Waiting.Patience); i++)
        {
            using RawClient client = await RawClient.ConnectAsync(guarded.Application.EndPoint, receiveBufferBytes: 4096);
            // The first request of a connection runs on the thread pool where it is there before Kestrel looks.
            for (int asked = 0; asked < 100 && (await client.GetAsync("/where")).Body != place; asked++)
            {
            }

            // Else it would leave the reactor by itself, were the checks far apart.
            time.AdvanceMs(2 * BlockingPolicies.WindowMs);
            long before = counters.BlockedMs;
            await client.SendAsync(Head("Content-Length: 0"));
            Assert.True(await entered.WaitAsync(Waiting.Patience));

            // Nobody reads yet.
            Assert.Equal(place, where);
            Assert.Equal(200, (await neighbour.GetAsync("/where")).Status);
            if (!isAllowedByServer)
            {
                Assert.True(await written.WaitAsync(Waiting.Patience));
                blockedMs.Add(counters.BlockedMs - before);
            }

            Assert.Equal(whole.Length, (await client.ReadResponseAsync()).Body.Length);
        }

        if (!isAllowedByServer)
        {
            Assert.InRange(blockedMs.Max(), 1, long.MaxValue);
            Assert.InRange(blockedMs.Min(), 0, 8 * StallDetector.PeriodMs);
        }

        Assert.Equal(0, counters.WaitsFailed);
    }

    private static Task<GuardedApplication> StartAsync(bool isAllowedByServer, RequestDelegate handler) =>
        StartAsync(isAllowedByServer, TimeProvider.System, handler);

    private static Task<GuardedApplication> StartAsync(bool isAllowedByServer, TimeProvider time, RequestDelegate handler) =>
        GuardedApplication.StartAsync(
            1,
            routes => routes.MapPost("/read", context =>
            {
                context.Features.GetRequiredFeature<IHttpBodyControlFeature>().AllowSynchronousIO = true;
                return handler(context);
            }),
            services: services =>
            {
                services.Configure<KestrelServerOptions>(kestrel => kestrel.AllowSynchronousIO = isAllowedByServer);
                services.AddSingleton(new BlockingPolicies(time, new TransportLog(NullLogger.Instance)));
            });

    /// <summary>A connection whose first request, which always begins on the thread pool, is over.</summary>
    private static async Task<RawClient> ConnectAsync(GuardedApplication guarded)
    {
        RawClient client = await guarded.Application.ConnectAsync();
        await client.GetAsync("/where");
        await client.GetAsync("/where");
        return client;
    }

    private static string Head(string framing) => $"POST /read HTTP/1.1\r\nHost: site\r\n{framing}\r\n\r\n";

    private static byte[] ReadAll(HttpContext context, string way)
    {
        Stream body = context.Request.Body;
        switch (way)
        {
            case "ReadToEnd":
                using (var reader = new StreamReader(body))
                {
                    return Encoding.ASCII.GetBytes(reader.ReadToEnd());
                }

            case "ReadToEndAsync().Result":
                using (var reader = new StreamReader(body))
                {
                    return Encoding.ASCII.GetBytes(reader.ReadToEndAsync().Result);
                }

            case "BodyReader.ReadAsync().Result":
                return ReadPipe(context);
            default:
                return ReadStream(body, way);
        }
    }

    private static byte[] ReadStream(Stream body, string way)
    {
        var all = new MemoryStream();
        byte[] piece = new byte[64 * 1024];
        int count;
        do
        {
            count = way switch
            {
                "Read" => body.Read(piece),
                "ReadAsync().Result" => body.ReadAsync(piece).AsTask().Result,
                "ReadAsync().Result on the pool" => Task.Run(async () => await body.ReadAsync(piece)).Result,
                _ => throw new ArgumentOutOfRangeException(nameof(way), way, "No such way."),
            };
            all.Write(piece, 0, count);
        }
        while (count > 0);
        return all.ToArray();
    }

    private static byte[] ReadPipe(HttpContext context)
    {
        var all = new MemoryStream();
        while (true)
        {
            System.IO.Pipelines.ReadResult read = context.Request.BodyReader.ReadAsync().AsTask().Result;
            foreach (ReadOnlyMemory<byte> part in read.Buffer)
            {
                all.Write(part.Span);
            }

            context.Request.BodyReader.AdvanceTo(read.Buffer.End);
            if (read.IsCompleted)
            {
                return all.ToArray();
            }
        }
    }

    /// <summary>Goes out in chunks.</summary>
    private sealed class UnsizedContent(byte[] bytes) : HttpContent
    {
        protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) => stream.WriteAsync(bytes).AsTask();

        protected override bool TryComputeLength(out long length)
        {
            length = 0;
            return false;
        }
    }
}
