using System.Collections.Concurrent;
using System.Diagnostics.Metrics;
using System.Globalization;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Multiplexed.Kit;
using Millrace.Quic.Connections;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Multiplexed;

/// <summary>What Kestrel documents of HTTP/3 besides requests, their ends and TLS: options, limits of time and size, features.</summary>
public class Http3FeatureTests
{
    [Fact]
    public async Task The_alternative_is_not_named_where_that_is_switched_off()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            endpoint: static listen =>
            {
                listen.DisableAltSvcHeader = true;
                listen.UseHttps(Certificates.Server);
            });
        using HttpClient client = application.Application.NewClient();
        using HttpResponseMessage response = await client.GetAsync("/");
        Assert.False(response.Headers.Contains("alt-svc"));
        Assert.Equal("here", (await (await application.ConnectAsync()).GetAsync("/")).Text());
    }

    /// <summary>By features: the items of a request are its stream's, as over Kestrel's own transport.</summary>
    [Fact]
    public async Task A_middleware_of_connections_sees_each_and_passes_on_what_it_knows()
    {
        int connections = 0;
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync(
                $"{context.Features.Get<Mark>()?.Text} {context.Features.Get<IConnectionItemsFeature>()!.Items.Count}"),
            endpoint: listen =>
            {
                listen.UseHttps(Certificates.Server);
                ((IMultiplexedConnectionBuilder)listen).Use(next => connection =>
                {
                    Interlocked.Increment(ref connections);
                    connection.Features.Set(new Mark("seen"));
                    connection.Items["mark"] = "seen";
                    return next(connection);
                });
            });
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("seen 0", (await client.GetAsync("/")).Text());
        Assert.Equal("seen 0", (await client.GetAsync("/")).Text());
        Assert.Equal(1, connections);
    }

    [Fact]
    public async Task A_middleware_may_refuse_a_connection()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            endpoint: static listen =>
            {
                listen.UseHttps(Certificates.Server);
                ((IMultiplexedConnectionBuilder)listen).Use(static _ => static connection =>
                {
                    connection.Features.Get<IProtocolErrorCodeFeature>()!.Error = Http3Codes.ExcessiveLoad;
                    connection.Abort(new ConnectionAbortedException("as the test wants it"));
                    return Task.CompletedTask;
                });
            });
        Http3TestConnection client = await application.ConnectAsync();
        CloseReason end = await client.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.ExcessiveLoad), (end.Source, end.IsApplication, end.Code));
    }

    [Fact]
    public async Task Content_that_comes_too_slowly_ends_the_connection()
    {
        var failed = new TaskCompletionSource<Exception>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await Http3Application.StartAsync(
            async context =>
            {
                try
                {
                    await context.Request.Body.CopyToAsync(Stream.Null);
                }
                catch (Exception error)
                {
                    failed.SetResult(error);
                    throw;
                }
            },
            limits: static limits => limits.MinRequestBodyDataRate = new MinDataRate(1_000, TimeSpan.FromSeconds(1.1)));
        Http3TestConnection client = await application.ConnectAsync();
        await client.SendAsync((byte[])[.. Http3Bytes.Request("POST", "/"), .. Http3Bytes.Data("a"u8)], isEnd: false);
        CloseReason end = await client.Closed;
        Assert.Equal((CloseSource.Peer, true), (end.Source, end.IsApplication));
        await failed.Task.Within();
    }

    [Fact]
    public async Task A_response_that_is_taken_too_slowly_ends_the_connection()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static async context =>
            {
                byte[] piece = new byte[64 * 1024];
                while (!context.RequestAborted.IsCancellationRequested)
                {
                    await context.Response.Body.WriteAsync(piece);
                }
            },
            limits: static limits => limits.MinResponseDataRate = new MinDataRate(1_000_000_000, TimeSpan.FromSeconds(1.1)));
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/"));
        await stream.ReadHeadAsync();
        CloseReason end = await client.Closed;
        Assert.Equal((CloseSource.Peer, true), (end.Source, end.IsApplication));
    }

    [Fact]
    public async Task A_head_that_is_not_complete_in_time_is_rejected_alone()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            limits: static limits => limits.RequestHeadersTimeout = TimeSpan.FromSeconds(1));
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/").AsMemory(0, 10), isEnd: false);
        Http3TestException end = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Equal(Http3Codes.RequestRejected, end.StreamCode);
        Assert.Equal("here", (await client.GetAsync("/")).Text());
    }

    [Fact]
    public async Task A_limit_of_the_content_applies_without_a_length_and_may_be_the_requests_own()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static async context =>
            {
                if (context.Request.Path == "/large")
                {
                    context.Features.Get<IHttpMaxRequestBodySizeFeature>()!.MaxRequestBodySize = 1_000;
                }

                using var content = new MemoryStream();
                await context.Request.Body.CopyToAsync(content);
                await context.Response.WriteAsync(content.Length.ToString(CultureInfo.InvariantCulture));
            },
            limits: static limits => limits.MaxRequestBodySize = 10);
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("413", await StatusAsync("/", 11));
        Assert.Equal("200", await StatusAsync("/", 10));
        Assert.Equal("200", await StatusAsync("/large", 1_000));
        Assert.Equal("413", await StatusAsync("/large", 1_001));

        async Task<string> StatusAsync(string path, int length)
        {
            Http3TestStream stream = await client.SendAsync(
                (byte[])[.. Http3Bytes.Request("POST", path), .. Http3Bytes.Data(new byte[length])]);
            return (await stream.ReadResponseAsync()).Status;
        }
    }

    [Fact]
    public async Task A_client_that_waits_for_100_gets_it_when_its_content_is_read()
    {
        await using Http3Application application = await Http3Application.StartAsync(static async context =>
        {
            using var reader = new StreamReader(context.Request.Body);
            await context.Response.WriteAsync(await reader.ReadToEndAsync());
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(
            Http3Bytes.Request("POST", "/", "expect: 100-continue", "content-length: 3"), isEnd: false);
        Assert.Equal((":status", "100"), Assert.Single((await stream.ReadHeadAsync())!));
        await stream.WriteAsync(Http3Bytes.Data("abc"u8), isEnd: true);
        Assert.Equal("abc", (await stream.ReadResponseAsync()).Text());
    }

    [Fact]
    public async Task A_response_to_HEAD_has_its_length_and_no_content()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context =>
        {
            context.Response.ContentLength = 7;
            return context.Response.WriteAsync("content");
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("HEAD", "/"));
        Http3TestResponse response = await stream.ReadResponseAsync();
        Assert.Equal(("200", "7", 0), (response.Status, response["content-length"], response.Content.Length));
    }

    [Fact]
    public async Task A_reset_before_the_response_reaches_the_client_with_its_code()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context =>
        {
            context.Features.Get<IHttpResetFeature>()!.Reset((int)Http3Codes.RequestRejected);
            return Task.CompletedTask;
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/"));
        Http3TestException end = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Equal(Http3Codes.RequestRejected, end.StreamCode);
    }

    /// <summary>The lifetime that a request sees is its stream's, as over Kestrel's own transport.</summary>
    [Fact]
    public async Task A_request_that_aborts_what_carries_it_ends_its_stream_alone()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context =>
        {
            if (context.Request.Path == "/abort")
            {
                context.Features.Get<IConnectionLifetimeFeature>()!.Abort();
                return Task.CompletedTask;
            }

            return context.Response.WriteAsync("here");
        });
        Http3TestConnection client = await application.ConnectAsync();
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/abort"));
        Http3TestException end = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Equal(Http3Codes.RequestCancelled, end.StreamCode);
        Assert.Equal("here", (await client.GetAsync("/")).Text());
    }

    [Fact]
    public async Task A_request_can_ask_for_the_end_of_its_connection()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context =>
        {
            context.Connection.RequestClose();
            return context.Response.WriteAsync("here");
        });
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("here", (await client.GetAsync("/")).Text());
        CloseReason end = await client.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.NoError), (end.Source, end.IsApplication, end.Code));
    }

    [Fact]
    public async Task Clients_are_informed_of_the_limit_of_heads()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            limits: static limits => limits.MaxRequestHeadersTotalSize = 12_345);
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Contains((Http3Bytes.FieldSectionSizeSetting, 12_345L), await client.ServerSettings);
    }

    [Fact]
    public async Task Requests_know_whether_they_may_have_content()
    {
        await using Http3Application application = await Http3Application.StartAsync(static context =>
            context.Response.WriteAsync($"{context.Features.Get<IHttpRequestBodyDetectionFeature>()!.CanHaveBody}"));
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("False", (await client.GetAsync("/")).Text());
        Assert.Equal("True", (await client.AskAsync("POST", "/", [], "abc"u8.ToArray())).Text());
    }

    [Fact]
    public async Task Connections_are_measured_with_what_they_are()
    {
        var seen = new ConcurrentQueue<Dictionary<string, object?>>();
        using var meters = new MeterListener
        {
            InstrumentPublished = static (instrument, listener) =>
            {
                if (instrument is { Meter.Name: "Microsoft.AspNetCore.Server.Kestrel", Name: "kestrel.connection.duration" })
                {
                    listener.EnableMeasurementEvents(instrument);
                }
            },
        };
        meters.SetMeasurementEventCallback<double>((_, _, tags, _) => seen.Enqueue(new Dictionary<string, object?>(tags.ToArray())));
        meters.Start();
        await using Http3Application application = await Http3Application.StartAsync(static context => context.Response.WriteAsync("here"));
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("here", (await client.GetAsync("/")).Text());
        client.Close();
        await client.Closed;
        await Waiting.UntilAsync(() => seen.Any(one => Equals(one.GetValueOrDefault("server.port"), application.Port)), () => "a connection");
        Dictionary<string, object?> tags = seen.First(one => Equals(one.GetValueOrDefault("server.port"), application.Port));
        Assert.Equal(
            ("http", "3", "udp", "ipv4"),
            (tags["network.protocol.name"], tags["network.protocol.version"], tags["network.transport"], tags["network.type"]));
    }

    private sealed record Mark(string Text);
}
