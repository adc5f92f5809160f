using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>Every kind of address can have it, and none that has not asked for it.</summary>
public class HttpsAddressTests
{
    private static readonly RequestDelegate ResponseWho = static context => context.Response.WriteAsync(
        $"{context.Request.Scheme} {(context.Features.Get<ITlsConnectionFeature>() is ConnectionTls ? "ours" : "another's")}");

    [Theory, EachHttps]
    public async Task The_address_that_is_reported_is_one_of_https(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, ResponseWho);

        Assert.StartsWith("https://127.0.0.1:", Assert.Single(application.Addresses), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Each_address_has_what_was_said_of_it()
    {
        await using RunningApplication application = await StartAsync(static kestrel =>
        {
            // All have the port 0 when they are bound: they are not distinguished by their values.
            kestrel.Listen(IPAddress.Loopback, 0);
            kestrel.Listen(IPAddress.Loopback, 0, static listen => listen.UseMillraceHttps(Certificates.Server));
            kestrel.Listen(IPAddress.Loopback, 0);
            kestrel.Listen(IPAddress.Loopback, 0, static listen => listen.UseHttps(Certificates.Server));
        });
        using HttpClient client = application.NewClient();

        string[] responses = await Task.WhenAll(application.Addresses.Select(client.GetStringAsync)).Within();

        Assert.Equal(["http another's", "https ours", "http another's", "https another's"], responses);
    }

    [Fact]
    public async Task Localhost_has_it_on_both_loopbacks()
    {
        int port = FreePort.Find();
        await using RunningApplication application = await StartAsync(
            kestrel => kestrel.ListenLocalhost(port, static listen => listen.UseMillraceHttps(Certificates.Server)));

        Assert.Equal([$"https://localhost:{port}"], application.Addresses);
        foreach (IPAddress address in (IPAddress[])[IPAddress.Loopback, IPAddress.IPv6Loopback])
        {
            Assert.Equal("https ours", await AskAsync(new IPEndPoint(address, port)));
        }
    }

    [Fact]
    public async Task A_loopback_beside_one_that_has_it_stays_plain()
    {
        int port = FreePort.Find();
        await using RunningApplication application = await StartAsync(kestrel =>
        {
            kestrel.Listen(IPAddress.Loopback, port, static listen => listen.UseMillraceHttps(Certificates.Server));
            kestrel.Listen(IPAddress.IPv6Loopback, port);
        });
        using HttpClient client = application.NewClient();

        Assert.Equal("https ours", await AskAsync(new IPEndPoint(IPAddress.Loopback, port)));
        Assert.Equal("http another's", await client.GetStringAsync($"http://[::1]:{port}/"));
    }

    [Fact]
    public async Task A_loopback_beside_localhost_stays_plain()
    {
        int port = FreePort.Find();
        await using RunningApplication application = await StartAsync(kestrel =>
        {
            kestrel.ListenLocalhost(port, static listen => listen.UseMillraceHttps(Certificates.Server));
            kestrel.Listen(IPAddress.Parse("127.0.0.2"), port);
        });
        using HttpClient client = application.NewClient();

        Assert.Equal("https ours", await AskAsync(new IPEndPoint(IPAddress.Loopback, port)));
        Assert.Equal("http another's", await client.GetStringAsync($"http://127.0.0.2:{port}/"));
    }

    [Fact]
    public async Task An_address_beside_one_whose_middleware_somebody_else_has_built_stays_plain()
    {
        await using RunningApplication application = await StartAsync(static kestrel =>
        {
            kestrel.Listen(IPAddress.Loopback, 0, static listen =>
            {
                listen.UseMillraceHttps(Certificates.Server);
                Assert.NotNull(listen.Build());
            });
            kestrel.Listen(IPAddress.Loopback, 0);
        });
        using HttpClient client = application.NewClient();

        string[] responses = await Task.WhenAll(application.Addresses.Select(client.GetStringAsync)).Within();

        Assert.Equal(["https ours", "http another's"], responses);
    }

    [Fact]
    public async Task Of_two_calls_for_one_address_the_later_one_counts()
    {
        await using RunningApplication application = await StartAsync(static kestrel =>
        {
            kestrel.ConfigureEndpointDefaults(static listen => listen.UseMillraceHttps(CertificateFolder.Make("earlier.example")));
            kestrel.Listen(IPAddress.Loopback, 0, static listen => listen.UseMillraceHttps(CertificateFolder.Make("later.example")));
        });

        await using HttpsClient client = await HttpsClient.ConnectAsync(application.EndPoint);
        Assert.Equal("CN=later.example", client.Stream.RemoteCertificate!.Subject);
    }

    [Fact]
    public async Task Any_ip_has_it_in_both_families()
    {
        await using RunningApplication application = await StartAsync(
            static kestrel => kestrel.ListenAnyIP(0, static listen => listen.UseMillraceHttps(Certificates.Server)));

        foreach (IPAddress address in (IPAddress[])[IPAddress.Loopback, IPAddress.IPv6Loopback])
        {
            Assert.Equal("https ours", await AskAsync(new IPEndPoint(address, application.Url.Port)));
        }
    }

    [Fact]
    public async Task A_unix_socket_has_it()
    {
        using var folder = new CertificateFolder();
        string path = folder.PathOf("site.sock");
        await using RunningApplication application = await StartAsync(
            kestrel => kestrel.ListenUnixSocket(path, static listen => listen.UseMillraceHttps(Certificates.Server)));

        Assert.Equal("https ours", await AskAsync(new UnixDomainSocketEndPoint(path)));
    }

    [Fact]
    public async Task A_socket_that_was_handed_down_has_it()
    {
        using var bound = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        bound.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        await using RunningApplication application = await StartAsync(
            kestrel => kestrel.ListenHandle((ulong)bound.Handle, static listen => listen.UseMillraceHttps(Certificates.Server)));

        Assert.Equal("https ours", await AskAsync(bound.LocalEndPoint!));
    }

    [Fact]
    public async Task The_defaults_of_endpoints_may_ask_for_it()
    {
        await using RunningApplication application = await StartAsync(static kestrel =>
        {
            kestrel.ConfigureEndpointDefaults(static listen => listen.UseMillraceHttps(Certificates.Server));
            kestrel.Listen(IPAddress.Loopback, 0);
        });

        Assert.Equal("https ours", await AskAsync(application.EndPoint));
    }

    private static Task<RunningApplication> StartAsync(Action<KestrelServerOptions> endpoints) =>
        RunningApplication.StartAsync(TransportKind.Millrace, ResponseWho, endpoints: endpoints);

    private static async Task<string> AskAsync(EndPoint endPoint)
    {
        await using HttpsClient client = await HttpsClient.ConnectAsync(endPoint);
        await client.SendAsync("GET / HTTP/1.0\r\n\r\n");
        return (await client.ReadToEndAsync())!.Split("\r\n\r\n")[1];
    }
}
