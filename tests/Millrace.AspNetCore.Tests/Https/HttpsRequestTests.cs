using System.Net;
using System.Security.Authentication;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;
using static Millrace.AspNetCore.Tests.Kit.ProtocolEcho;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>Requests and their bodies over TLS, by HTTP/1.1 and HTTP/2.</summary>
public class HttpsRequestTests
{
    private const int LargeBodyBytes = 20_000_003;

    [Theory, EachHttps]
    public async Task Requests_are_answered_one_after_the_other(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, EchoProtocol);
        using HttpClient client = application.NewClient();

        for (int i = 0; i < 100; i++)
        {
            Assert.Equal($"HTTP/1.1 https /{i}", await client.GetStringAsync($"/{i}"));
        }

        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    public async Task Requests_that_come_at_once_are_answered_in_order(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, EchoProtocol);
        await using HttpsClient client = await HttpsClient.ConnectAsync(application);

        await client.SendAsync(string.Concat(Enumerable.Range(0, 50).Select(static i => $"GET /{i} HTTP/1.1\r\nHost: site\r\n\r\n"))
            + "GET /last HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");
        string? responses = await client.ReadToEndAsync();

        Assert.NotNull(responses);
        int at = 0;
        foreach (string path in Enumerable.Range(0, 50).Select(static i => $"https /{i}\r\n").Append("https /last\r\n"))
        {
            at = responses.IndexOf(path, at, StringComparison.Ordinal);
            Assert.True(at >= 0, $"There is no {path} in its place.");
        }
    }

    [Theory, EachHttps]
    public Task A_hundred_streams_share_one_connection(HttpsKind kind) =>
        AssertHundredStreamsShareOneConnectionAsync(response => HttpsApplication.StartAsync(kind, response));

    [Theory, EachHttps]
    public async Task An_upload_arrives_whole(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind, static async context => await context.Response.WriteAsync(await PatternContent.HashAsync(context.Request.Body)));
        foreach (Version version in (Version[])[HttpVersion.Version11, HttpVersion.Version20])
        {
            using HttpClient client = application.NewClient(version);

            using HttpResponseMessage response = await client.PostAsync("/", new PatternContent(LargeBodyBytes, Framing.Sized));

            Assert.Equal(PatternContent.HashOf(LargeBodyBytes), await response.Content.ReadAsStringAsync());
        }
    }

    [Theory, EachHttps]
    public async Task A_download_arrives_whole(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, static async context =>
        {
            foreach (ReadOnlyMemory<byte> piece in PatternContent.Pieces(LargeBodyBytes))
            {
                await context.Response.Body.WriteAsync(piece);
            }
        });
        foreach (Version version in (Version[])[HttpVersion.Version11, HttpVersion.Version20])
        {
            using HttpClient client = application.NewClient(version);

            await using Stream body = await client.GetStreamAsync("/");

            Assert.Equal(PatternContent.HashOf(LargeBodyBytes), await PatternContent.HashAsync(body));
        }
    }

    [Theory, EachHttps]
    public Task Large_bodies_go_both_ways_on_many_streams(HttpsKind kind) =>
        AssertLargeBodiesGoBothWaysAsync(response => HttpsApplication.StartAsync(kind, response));

    [Theory, EachHttps]
    public async Task Both_versions_of_tls_are_spoken(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, EchoProtocol);
#pragma warning disable CA5398 // Each of them is what is tested.
        foreach (SslProtocols version in (SslProtocols[])[SslProtocols.Tls12, SslProtocols.Tls13])
#pragma warning restore CA5398
        {
            await using HttpsClient client = await HttpsClient.ConnectAsync(application, options => options.EnabledSslProtocols = version);
            await client.SendAsync("GET /tls HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");

            Assert.Contains("https /tls", await client.ReadToEndAsync(), StringComparison.Ordinal);
            Assert.Equal(version, client.Stream.SslProtocol);
        }
    }
}
