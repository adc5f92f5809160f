using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>
/// A request for a host that the certificate of its connection does not cover (RFC 9110, section 7.4; RFC 9113, section 9.1.2).
/// </summary>
public class MisdirectedTests
{
    public static TheoryData<bool> Versions => [false, true];

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task A_host_that_the_certificate_does_not_cover_is_misdirected(bool isHttp2)
    {
        using var folder = new TempFolder();
        await using ServerProcess server = await StartAsync(folder, "--host", $"b.example={Places.SampleSite}");
        (string Host, int Status)[] expected =
        [
            ("a.example", 200), ("A.EXAMPLE:8443", 200), ("a.example.", 200), ("x.a.example", 200), ("x.y.a.example", 421),
            ("b.example", 421),
            ("127.0.0.1", 421), ("example", 421), ("evil-a.example", 421),
        ];
        foreach ((string host, int status) in expected)
        {
            Assert.Equal((host, status), (host, await AskAsync(server.Url, "a.example", host, isHttp2)));
        }

        // The same by the certificate that fits, and on a connection that goes on after a refusal.
        Assert.Equal(200, await AskAsync(server.Url, "b.example", "b.example", isHttp2));
        Assert.Equal(421, await AskAsync(server.Url, "b.example", "a.example", isHttp2));
        Assert.Equal(421, await AskAsync(server.Url, "unknown.example", "unknown.example", isHttp2));
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task With_one_host_it_is_checked_only_if_configured(bool isHttp2)
    {
        using var folder = new TempFolder();
        await using (ServerProcess server = await StartAsync(folder))
        {
            Assert.Equal(200, await AskAsync(server.Url, "a.example", "b.example", isHttp2));
        }

        await using (ServerProcess server = await StartAsync(folder, "--host-check", "on"))
        {
            Assert.Equal(421, await AskAsync(server.Url, "a.example", "c.example", isHttp2));
        }

        await using (ServerProcess server = await StartAsync(folder, "--host-check", "off", "--host", $"b.example={Places.SampleSite}"))
        {
            Assert.Equal(200, await AskAsync(server.Url, "a.example", "b.example", isHttp2));
        }
    }

    [Fact]
    public async Task A_proxy_that_is_trusted_may_connect_to_one_host_for_all()
    {
        using var folder = new TempFolder();
        await using ServerProcess server = await StartAsync(
            folder, "--host", $"b.example={Places.SampleSite}", "--trusted-proxy", "127.0.0.1");
        Assert.Equal(200, await AskAsync(server.Url, "a.example", "b.example", isHttp2: false));
    }

    [Fact]
    public async Task After_a_misdirected_stream_the_connection_serves_its_own_host()
    {
        Tool.Require("curl");
        using var folder = new TempFolder();
        await using ServerProcess server = await StartAsync(folder, "--host", $"b.example={Places.SampleSite}");
        int port = server.Url.Port;
        ToolResult result = await Tool.RunAsync(
            "curl", "-sk", "--http2", "--resolve", $"a.example:{port}:127.0.0.1", "-w", "%{http_code} %{num_connects}\n", "-o", "/dev/null",
            "-H", "Host: b.example", $"https://a.example:{port}/", "--next", "-sk", "--http2", "--resolve", $"a.example:{port}:127.0.0.1",
            "-w", "%{http_code} %{num_connects}\n", "-o", "/dev/null", $"https://a.example:{port}/");
        Assert.Equal("421 1\n200 0\n", result.Output);
    }

    private static Task<ServerProcess> StartAsync(TempFolder folder, params string[] more) => ServerProcess.StartAsync(
    [
        Places.SampleSite, "--https", "127.0.0.1:0", .. OwnCertificate.Make(folder, "a", "a.example", "*.a.example"),
        .. OwnCertificate.Make(folder, "b", "b.example"), .. more,
    ]);

    /// <summary>Names one host to TLS and another to HTTP. Returns the status.</summary>
    private static async Task<int> AskAsync(Uri url, string serverName, string host, bool isHttp2)
    {
        using var client = new HttpClient(new SocketsHttpHandler
        {
            ConnectCallback = async (_, cancellation) =>
            {
                var socket = new TcpClient();
                await socket.ConnectAsync(url.Host, url.Port, cancellation);
                var stream = new SslStream(socket.GetStream(), leaveInnerStreamOpen: false, OwnCertificate.IsAnything);
                await stream.AuthenticateAsClientAsync(
                    new SslClientAuthenticationOptions
                    {
                        TargetHost = serverName,
                        ApplicationProtocols = [isHttp2 ? SslApplicationProtocol.Http2 : SslApplicationProtocol.Http11],
                    },
                    cancellation);
                return stream;
            },
        });

        // In plain to the handler, which would shake hands by itself: the stream is encrypted already.
        using var request = new HttpRequestMessage(HttpMethod.Get, $"http://{url.Host}:{url.Port}/")
        {
            Version = isHttp2 ? HttpVersion.Version20 : HttpVersion.Version11,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Headers = { Host = host },
        };
        using HttpResponseMessage response = await client.SendAsync(request, TestContext.Current.CancellationToken);
        return (int)response.StatusCode;
    }
}
