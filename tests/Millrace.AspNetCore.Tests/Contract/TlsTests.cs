using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Text;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.AspNetCore.Tests.Kit;
using static Millrace.AspNetCore.Tests.Kit.ProtocolEcho;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>UseHttps puts an SslStream over the transport's pipe; HTTP/2 comes with it.</summary>
public class TlsTests
{
    private static Task<RunningApplication> StartAsync(TransportKind transport, RequestDelegate response) => RunningApplication.StartAsync(
        transport, response, static limits => limits.MaxRequestBodySize = null, static endpoint => endpoint.UseHttps(Certificates.Server));

    [Theory, EachTransport]
    public async Task Requests_are_answered_over_tls(TransportKind transport)
    {
        await using RunningApplication application = await StartAsync(transport, EchoProtocol);
        using HttpClient client = application.NewClient();

        for (int i = 0; i < 100; i++)
        {
            Assert.Equal($"HTTP/1.1 https /{i}", await client.GetStringAsync($"/{i}"));
        }
    }

    [Theory, EachTransport]
    public async Task Requests_are_answered_over_http2(TransportKind transport)
    {
        await using RunningApplication application = await StartAsync(transport, EchoProtocol);
        using HttpClient client = application.NewClient(HttpVersion.Version20);

        for (int i = 0; i < 100; i++)
        {
            Assert.Equal($"HTTP/2 https /{i}", await client.GetStringAsync($"/{i}"));
        }
    }

    [Theory, EachTransport]
    public Task A_hundred_streams_share_one_connection(TransportKind transport) =>
        AssertHundredStreamsShareOneConnectionAsync(response => StartAsync(transport, response));

    [Theory, EachTransport]
    public Task Large_bodies_go_both_ways_on_many_streams(TransportKind transport) =>
        AssertLargeBodiesGoBothWaysAsync(response => StartAsync(transport, response));

    [Theory, EachTransport]
    public async Task An_upload_over_tls_arrives_whole(TransportKind transport)
    {
        const int BodyBytes = 30_000_001;
        await using RunningApplication application = await StartAsync(transport, static async context =>
            await context.Response.WriteAsync(await PatternContent.HashAsync(context.Request.Body)));
        using HttpClient client = application.NewClient();

        using HttpResponseMessage response = await client.PostAsync("/", new PatternContent(BodyBytes, Framing.Sized));

        Assert.Equal(PatternContent.HashOf(BodyBytes), await response.Content.ReadAsStringAsync());
    }

    [Theory, EachTransport]
    public async Task Http2_is_spoken_in_the_clear_where_it_is_all_there_is(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport, EchoProtocol, endpoint: static endpoint => endpoint.Protocols = HttpProtocols.Http2);
        using HttpClient client = application.NewClient(HttpVersion.Version20);

        Assert.Equal("HTTP/2 http /clear", await client.GetStringAsync("/clear"));
    }

    [Theory, EachTransport]
    public async Task A_client_certificate_is_seen_by_the_application(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Response.WriteAsync(context.Connection.ClientCertificate?.Subject ?? "nobody"),
            endpoint: static endpoint => endpoint.UseHttps(static https =>
            {
                https.ServerCertificate = Certificates.Server;
                https.ClientCertificateMode = ClientCertificateMode.RequireCertificate;
                https.ClientCertificateValidation = static (_, _, _) => true;
            }));
        using HttpClient client = application.NewClient(
            adjust: static handler => handler.SslOptions.ClientCertificates = [Certificates.Client]);

        Assert.Equal("CN=client", await client.GetStringAsync("/"));
    }

    [Theory, EachTransport]
    public async Task A_client_certificate_can_be_asked_for_when_the_request_is_there(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static async context => await context.Response.WriteAsync((await context.Connection.GetClientCertificateAsync())?.Subject ?? "nobody"),
            endpoint: static endpoint =>
            {
                endpoint.Protocols = HttpProtocols.Http1;
                endpoint.UseHttps(static https =>
                {
                    https.ServerCertificate = Certificates.Server;
                    https.ClientCertificateMode = ClientCertificateMode.DelayCertificate;
                    https.ClientCertificateValidation = static (_, _, _) => true;
                    https.SslProtocols = SslProtocols.Tls12;
                });
            });
        using HttpClient client = application.NewClient(
            adjust: static handler => handler.SslOptions.ClientCertificates = [Certificates.Client]);

        Assert.Equal("CN=client", await client.GetStringAsync("/"));
    }

    [Theory, EachTransport]
    public async Task The_certificate_is_chosen_by_an_awaited_callback(TransportKind transport)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            EchoProtocol,
            endpoint: static endpoint => endpoint.UseHttps(
                static async (_, _, _, cancellation) =>
                {
                    await Task.Delay(5, cancellation);
                    return new SslServerAuthenticationOptions { ServerCertificate = Certificates.Server };
                },
                state: null!));
        using HttpClient client = application.NewClient();

        Assert.Equal("HTTP/1.1 https /chosen", await client.GetStringAsync("/chosen"));
    }

    [Theory, EachTransport]
    public async Task Every_version_of_tls_is_negotiated(TransportKind transport)
    {
        await using RunningApplication application = await StartAsync(transport, EchoProtocol);
        foreach (SslProtocols version in (SslProtocols[])[SslProtocols.Tls12, SslProtocols.Tls13])
        {
            using RawClient client = await application.ConnectAsync();
            await using var tls = new SslStream(new NetworkStream(client.Socket), leaveInnerStreamOpen: false, Certificates.IsServer);
            await tls.AuthenticateAsClientAsync(
                new SslClientAuthenticationOptions { TargetHost = "localhost", EnabledSslProtocols = version }).Within();
            await tls.WriteAsync("GET /tls HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n"u8.ToArray());
            using var reader = new StreamReader(tls, Encoding.ASCII);

            Assert.EndsWith("https /tls", Chunks(await reader.ReadToEndAsync().Within()), StringComparison.Ordinal);
            Assert.Equal(version, tls.SslProtocol);
        }
    }

    [Theory, EachTransport]
    public async Task Handshakes_that_are_left_or_nonsense_harm_nobody(TransportKind transport)
    {
        await using RunningApplication application = await StartAsync(transport, EchoProtocol);
        for (int i = 0; i < 20; i++)
        {
            using RawClient left = await application.ConnectAsync();
            await left.SendAsync(i % 2 == 0 ? "GET / HTTP/1.1\r\nHost: site\r\n\r\n" : "\x16\x03\x01\x02");
            if (i % 4 == 1)
            {
                left.Reset();
            }
        }

        using HttpClient client = application.NewClient();
        Assert.Equal("HTTP/1.1 https /after", await client.GetStringAsync("/after"));
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachTransport]
    public async Task A_stream_that_is_cancelled_aborts_its_request_alone(TransportKind transport)
    {
        var started = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var aborted = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using RunningApplication application = await StartAsync(transport, async context =>
        {
            if (context.Request.Path == "/cancelled")
            {
                context.RequestAborted.Register(aborted.SetResult);
                started.SetResult();
                await aborted.Task;
            }

            await EchoProtocol(context);
        });
        using HttpClient client = application.NewClient(HttpVersion.Version20);
        using var cancel = new CancellationTokenSource();
        Task<string> cancelled = client.GetStringAsync("/cancelled", cancel.Token);
        await started.Task.Within();

        await cancel.CancelAsync();

        await aborted.Task.Within();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => cancelled);
        Assert.Equal("HTTP/2 https /other", await client.GetStringAsync("/other"));
    }

    /// <summary>The text of a chunked body that came in one chunk.</summary>
    private static string Chunks(string text) => text.EndsWith("\r\n0\r\n\r\n", StringComparison.Ordinal) ? text[..^7] : text;
}
