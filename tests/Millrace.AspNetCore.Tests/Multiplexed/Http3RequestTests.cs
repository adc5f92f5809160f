using System.Globalization;
using System.IO.Pipelines;
using System.Security.Cryptography;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Multiplexed.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Multiplexed;

/// <summary>What applications do with requests of HTTP/3, as their clients see it.</summary>
public class Http3RequestTests
{
    private const int Megabyte = 1024 * 1024;

    [Theory]
    [InlineData(HttpsKind.Kestrel, TransportKind.Millrace)]
    [InlineData(HttpsKind.Kestrel, TransportKind.MillraceOnThePool)]
    [InlineData(HttpsKind.Millrace, TransportKind.Millrace)]
    [InlineData(HttpsKind.Millrace, TransportKind.MillraceOnThePool)]
    internal async Task A_request_is_what_the_client_has_sent(HttpsKind kind, TransportKind transport)
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context =>
            {
                HttpRequest request = context.Request;
                ConnectionInfo connection = context.Connection;
                return context.Response.WriteAsync(
                    $"{request.Protocol} {request.Method} {request.Scheme}://{request.Host}{request.Path}{request.QueryString} "
                    + $"{request.Headers["x-field"]} {connection.RemoteIpAddress} {connection.RemotePort > 0} {connection.LocalPort}");
            },
            kind,
            transport);
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestResponse response = await client.GetAsync("/path?query", "x-field: value");
        Assert.Equal("200", response.Status);
        Assert.Equal(
            $"HTTP/3 GET https://localhost/path?query value 127.0.0.1 True {application.Port}", response.Text());
        Assert.Empty(application.Log.AboveDebug);
    }

    [Fact]
    public async Task The_other_versions_name_http3_as_an_alternative_on_the_same_port()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context => context.Response.WriteAsync("here"));
        using HttpClient client = application.Application.NewClient();
        using HttpResponseMessage response = await client.GetAsync("/");
        Assert.Equal($"h3=\":{application.Port}\"", Assert.Single(response.Headers.GetValues("alt-svc")));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(100_000)]
    [InlineData(5 * Megabyte)]
    public async Task Content_arrives_whole_both_ways(int length)
    {
        await using Http3Application application = await Http3Application.StartAsync(static async context =>
        {
            using var content = new MemoryStream();
            await context.Request.Body.CopyToAsync(content);
            context.Response.ContentLength = content.Length;
            await context.Response.Body.WriteAsync(content.GetBuffer().AsMemory(0, (int)content.Length));
        });
        Http3TestConnection client = await application.ConnectAsync();
        byte[] sent = RandomNumberGenerator.GetBytes(length);
        string[] fields = [$"content-length: {length}"];
        Http3TestResponse response = await client.AskAsync("POST", "/", fields, sent);
        Assert.Equal("200", response.Status);
        Assert.Equal(sent, response.Content);
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory]
    [InlineData(TransportKind.Millrace)]
    [InlineData(TransportKind.MillraceOnThePool)]
    internal async Task Pieces_are_answered_while_the_request_continues(TransportKind transport)
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static async context =>
            {
                await context.Response.Body.FlushAsync();
                while (true)
                {
                    ReadResult read = await context.Request.BodyReader.ReadAsync();
                    foreach (ReadOnlyMemory<byte> piece in read.Buffer)
                    {
                        await context.Response.Body.WriteAsync(piece);
                    }

                    await context.Response.Body.FlushAsync();
                    context.Request.BodyReader.AdvanceTo(read.Buffer.End);
                    if (read.IsCompleted)
                    {
                        return;
                    }
                }
            },
            transport: transport);
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("POST", "/"), isEnd: false);
        Assert.Equal("200", (await stream.ReadHeadAsync())![0].Value);
        for (int i = 0; i < 20; i++)
        {
            byte[] piece = RandomNumberGenerator.GetBytes(1 + (i * 100));
            await stream.WriteAsync(Http3Bytes.Data(piece));
            using var answer = new MemoryStream();
            while (answer.Length < piece.Length)
            {
                answer.Write(await stream.ReadDataAsync());
            }

            Assert.Equal(piece, answer.ToArray());
        }

        await stream.FinishAsync();
        Assert.Null(await stream.ReadDataAsync());
    }

    [Fact]
    public async Task Trailers_are_passed_both_ways()
    {
        await using Http3Application application = await Http3Application.StartAsync(static async context =>
        {
            await context.Request.Body.CopyToAsync(Stream.Null);
            await context.Response.WriteAsync("content");
            context.Response.AppendTrailer("x-after", context.Request.GetTrailer("x-sum"));
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync((byte[])
        [
            .. Http3Bytes.Request("POST", "/"), .. Http3Bytes.Data("data"u8), .. Http3Bytes.Headers(("x-sum", "17")),
        ]);
        Http3TestResponse response = await stream.ReadResponseAsync();
        Assert.Equal("content", response.Text());
        Assert.Equal(("x-after", "17"), Assert.Single(response.Trailers!));
    }

    [Fact]
    public async Task Many_requests_of_a_connection_are_answered_at_a_time_and_one_after_the_other()
    {
        await using Http3Application application = await Http3Application.StartAsync(async context =>
        {
            await Task.Yield();
            await context.Response.WriteAsync(context.Request.Path.Value!);
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestResponse[] responses = await Task.WhenAll(Enumerable.Range(0, 400).Select(i => client.GetAsync($"/{i}")));
        Assert.Equal(Enumerable.Range(0, 400).Select(static i => $"/{i}"), responses.Select(static one => one.Text()));
        for (int i = 0; i < 100; i++)
        {
            Assert.Equal("/again", (await client.GetAsync("/again")).Text());
        }

        Assert.Empty(application.Log.AboveDebug);
    }

    [Fact]
    public async Task The_objects_of_a_stream_serve_later_ones()
    {
        var seen = new System.Collections.Concurrent.ConcurrentDictionary<HttpContext, int>(ReferenceEqualityComparer.Instance);
        await using Http3Application application = await Http3Application.StartAsync(context =>
        {
            // Kestrel's object of the stream.
            object features = context.Features;
            seen.AddOrUpdate(context, 1, static (_, count) => count + 1);
            return context.Response.WriteAsync(System.Runtime.CompilerServices.RuntimeHelpers.GetHashCode(features).ToString(
                CultureInfo.InvariantCulture));
        });
        Http3TestConnection client = await application.ConnectAsync();
        var objects = new HashSet<string>();
        for (int i = 0; i < 50; i++)
        {
            objects.Add((await client.GetAsync("/")).Text());
        }

        // One waits for the client's acknowledgment while another begins.
        Assert.InRange(objects.Count, 1, 10);
    }

    [Fact]
    public async Task A_client_that_reads_nothing_holds_the_handler_back()
    {
        long written = 0;
        await using Http3Application application = await Http3Application.StartAsync(
            async context =>
            {
                byte[] piece = new byte[16 * 1024];
                for (int i = 0; i < 1024; i++)
                {
                    await context.Response.Body.WriteAsync(piece);
                    Interlocked.Add(ref written, piece.Length);
                }
            },
            limits: static limits => limits.MinResponseDataRate = null);
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/"));
        Assert.NotNull(await stream.ReadHeadAsync());
        await SettledAsync();

        // The client's window, the stream's and the pipe's buffers.
        Assert.InRange(written, 1, 4 * Megabyte);
        Assert.Equal("200", (await client.GetAsync("/other").WaitAsync(Waiting.Patience)).Status);
        long received = 0;
        while (await stream.ReadDataAsync() is { } data)
        {
            received += data.Length;
        }

        Assert.Equal(16 * Megabyte, received);

        async Task SettledAsync()
        {
            long before;
            do
            {
                before = Interlocked.Read(ref written);
                // Sleeps: that nothing more is written has no event.
                await Task.Delay(200);
            }
            while (before != Interlocked.Read(ref written) || before == 0);
        }
    }

    [Fact]
    public async Task A_handler_that_does_not_read_holds_the_client_back()
    {
        var go = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await Http3Application.StartAsync(
            async context =>
            {
                await go.Task;
                using var all = new MemoryStream();
                await context.Request.Body.CopyToAsync(all);
                await context.Response.WriteAsync(all.Length.ToString(CultureInfo.InvariantCulture));
            },
            limits: static limits => limits.MinRequestBodyDataRate = null);
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("POST", "/"), isEnd: false);
        Task write = stream.WriteAsync(Http3Bytes.Data(new byte[8 * Megabyte]), isEnd: true);

        // Sleeps: that no more is sent has no event.
        await Task.Delay(500);
        Assert.False(write.IsCompleted);
        go.SetResult();
        await write;
        Assert.Equal((8 * Megabyte).ToString(CultureInfo.InvariantCulture), (await stream.ReadResponseAsync()).Text());
    }

    [Fact]
    public async Task Requests_that_kestrel_refuses_are_answered()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static async context =>
            {
                await context.Request.Body.CopyToAsync(Stream.Null);
                await context.Response.WriteAsync("read");
            },
            limits: static limits =>
            {
                limits.MaxRequestBodySize = 10;
                limits.MaxRequestHeaderCount = 20;
            });
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("413", (await client.AskAsync("POST", "/", ["content-length: 11"], new byte[11])).Status);
        string[] fields = [.. Enumerable.Range(0, 25).Select(static i => $"x-{i}: 1")];
        Assert.Equal("431", (await client.GetAsync("/", fields)).Status);
        Assert.Equal("read", (await client.GetAsync("/")).Text());
    }

    [Fact]
    public async Task A_handler_runs_on_the_thread_pool_and_knows_its_reactor()
    {
        await using Http3Application application = await Http3Application.StartAsync(static async context =>
        {
            Engine.Reactor reactor = context.GetReactor()!;
            bool began = reactor.IsReactorThread;
            await reactor.SwitchTo();
            await reactor.Delay(TimeSpan.FromMilliseconds(1));
            await context.Response.WriteAsync($"{began} {reactor.IsReactorThread}");
        });
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("False True", (await client.GetAsync("/")).Text());
    }

    [Fact]
    public async Task A_handler_may_block_for_its_content()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context =>
        {
            context.Features.Get<IHttpBodyControlFeature>()!.AllowSynchronousIO = true;
            using var all = new MemoryStream();
            context.Request.Body.CopyTo(all);
            context.Response.Body.Write(all.GetBuffer(), 0, (int)all.Length);
            return Task.CompletedTask;
        });
        Http3TestConnection client = await application.ConnectAsync();
        byte[] sent = RandomNumberGenerator.GetBytes(Megabyte);
        Assert.Equal(sent, (await client.AskAsync("POST", "/", [], sent)).Content);
    }

    [Fact]
    public async Task All_addresses_are_served_with_the_clients_addresses_of_tcp()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync($"{context.Connection.RemoteIpAddress} {context.Connection.LocalIpAddress}"),
            listen: static (kestrel, port, configure) => kestrel.ListenAnyIP(port, configure));
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("::ffff:127.0.0.1 ::ffff:127.0.0.1", (await client.GetAsync("/")).Text());
    }

    [Fact]
    public async Task Localhost_is_served()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync($"{context.Connection.RemoteIpAddress}"),
            HttpsKind.Millrace,
            listen: static (kestrel, port, configure) => kestrel.ListenLocalhost(port, configure));
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("127.0.0.1", (await client.GetAsync("/")).Text());
    }

    [Fact]
    public async Task A_unix_socket_has_the_other_versions_and_a_warning()
    {
        string path = Path.Combine(Path.GetTempPath(), $"millrace-{Guid.NewGuid():N}.sock");
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            listen: (kestrel, _, configure) => kestrel.ListenUnixSocket(path, configure));
        await application.Log.ExpectAsync("EndPointLeft");
        Assert.True(File.Exists(path));
    }

    [Fact]
    public async Task An_endpoint_may_serve_http3_alone()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("only"),
            HttpsKind.Millrace,
            protocols: Microsoft.AspNetCore.Server.Kestrel.Core.HttpProtocols.Http3);
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("only", (await client.GetAsync("/")).Text());
    }
}
