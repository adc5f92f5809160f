using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Admin;

/// <summary>The admin pages of a server that runs.</summary>
public class AdminTests(AdminTests.Quiet quiet) : IClassFixture<AdminTests.Quiet>
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task A_port_alone_is_this_machine_only_and_nothing_is_shown_unless_asked_for()
    {
        await using ServerProcess shown = await StartAsync("--admin", "0");
        await using ServerProcess silent = await StartAsync();

        Assert.Matches(@"^http://127\.0\.0\.1:[1-9]\d*/$", shown.Admin.ToString());
        Assert.DoesNotContain(silent.Lines, static line => line.Contains("Admin", StringComparison.Ordinal));
        Assert.Equal(404, Wire.Get(silent.Url, "/metrics").Status);
    }

    [Fact]
    public void A_server_that_serves_is_healthy_and_ready()
    {
        WireResponse health = Ask(quiet.Server, "/healthz");
        WireResponse ready = Ask(quiet.Server, "/readyz");

        Assert.Equal((200, "healthy\n"), (health.Status, Encoding.ASCII.GetString(health.Body)));
        Assert.Equal((200, "ready\n"), (ready.Status, Encoding.ASCII.GetString(ready.Body)));
        Assert.Equal("no-store", health.Field("Cache-Control"));
        Assert.Equal("nosniff", health.Field("X-Content-Type-Options"));
    }

    [Fact]
    public async Task While_the_sites_drain_it_is_healthy_but_not_ready_and_then_it_ends()
    {
        using var folder = new TempFolder();
        folder.Add("large.bin", 16 * 1024 * 1024);
        await using ServerProcess server = await ServerProcess.StartAsync(
            folder.Root, "--listen", "127.0.0.1:0", "--admin", "0", "--drain", "120");
        using SlowDownload download = await SlowDownload.StartAsync(new Uri(server.Url, "large.bin"));
        Assert.Equal(200, Ask(server, "/readyz").Status);

        server.Signal(PosixSignal.SIGTERM);

        await AwaitAsync(server.Admin, "/readyz", static response => response.Status == 503);
        Assert.Equal("draining\n", Encoding.ASCII.GetString(Ask(server, "/readyz").Body));
        Assert.Equal(200, Ask(server, "/healthz").Status);
        Assert.Equal(200, Ask(server, "/metrics").Status);
        byte[] response = await download.ReadToEndAsync();
        Assert.True(response.Length >= 16 * 1024 * 1024, "The download was cut off.");
        download.Dispose();
        Assert.Equal(0, await server.ExitCodeAsync());
        LogText.AssertOrderlyEnd(await server.ErrorAsync());
    }

    [Theory]
    [InlineData("GET", "/nowhere", 404)]
    [InlineData("POST", "/nowhere", 404)]
    [InlineData("GET", "/metrics/", 404)]
    [InlineData("POST", "/metrics", 405)]
    [InlineData("DELETE", "/", 405)]
    [InlineData("OPTIONS", "/healthz", 405)]
    [InlineData("PROPFIND", "/", 405)]
    [InlineData("HEAD", "/metrics", 200)]
    [InlineData("HEAD", "/", 200)]
    [InlineData("GET", "/stats.json?after=x", 200)]
    [InlineData("GET", "/stats.json?after=-1", 200)]
    [InlineData("GET", "/stats.json?after=99999999999999999999", 200)]
    public async Task Pages_are_read_and_nothing_else(string method, string target, int status)
    {
        string text = await ReplaceAsync(quiet.Server.Admin, $"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");

        Assert.StartsWith($"HTTP/1.1 {status} ", text, StringComparison.Ordinal);
        Assert.Equal(status == 405, text.Contains("\r\nAllow: GET, HEAD\r\n", StringComparison.Ordinal));
        Assert.Equal(method == "HEAD", text.EndsWith("\r\n\r\n", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Requests_on_one_connection_are_answered_in_order()
    {
        string one = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
        string text = await ReplaceAsync(quiet.Server.Admin, one + one + "GET /none HTTP/1.1\r\nHost: a.localhost\r\nConnection: close\r\n\r\n");

        string[] statuses = [.. text.Split("HTTP/1.1 ").Skip(1).Select(static response => response[..3])];
        Assert.Equal(["200", "200", "404"], statuses);
    }

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n\r\n", "400")]
    [InlineData("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", "200")]
    [InlineData("GET /healthz HTTP/1.0\r\n\r\n", "200")]
    [InlineData("nonsense\r\n\r\n", "400")]
    public async Task A_request_that_is_odd_is_answered_and_its_connection_ends(string request, string status)
    {
        string text = await ReplaceAsync(quiet.Server.Admin, request);

        Assert.StartsWith($"HTTP/1.1 {status} ", text, StringComparison.Ordinal);
        Assert.Contains("\r\nConnection: close\r\n", text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_name_that_is_not_this_machines_is_misdirected_unless_it_was_told()
    {
        await using ServerProcess server = await StartAsync("--admin", "0", "--admin-host", "mill.example.org");
        foreach (string page in (string[])["/", "/metrics", "/healthz", "/stats.json"])
        {
            string request = $"GET {page} HTTP/1.1\r\nConnection: close\r\nHost: ";
            string refused = await ReplaceAsync(server.Admin, request + "evil.example\r\n\r\n");
            string served = await ReplaceAsync(server.Admin, request + "mill.example.org\r\n\r\n");

            Assert.StartsWith("HTTP/1.1 421 ", refused, StringComparison.Ordinal);
            Assert.Contains("--admin-host", refused, StringComparison.Ordinal);
            Assert.StartsWith("HTTP/1.1 200 ", served, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task It_is_reached_over_a_unix_socket_too()
    {
        using var folder = new TempFolder();
        string path = folder.PathOf("admin.sock");
        await using ServerProcess server = await StartAsync("--admin", $"unix:{path}", "--unix-mode", "0640");
        Assert.Equal(
            UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead, new FileInfo(path).UnixFileMode);
        using var handler = new SocketsHttpHandler
        {
            ConnectCallback = async (_, cancellation) =>
            {
                var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
                await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), cancellation);
                return new NetworkStream(socket, ownsSocket: true);
            },
        };
        using var client = new HttpClient(handler);

        Assert.Equal("ready\n", await client.GetStringAsync(new Uri("http://localhost/readyz")));
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        Assert.False(File.Exists(path));
    }

    [Theory]
    [InlineData("is not a valid address", "--admin", "127.1:80")]
    [InlineData("is not a valid address", "--admin", "65536")]
    [InlineData("add --admin", "--admin-host", "a.example")]
    [InlineData("omit scheme and port", "--admin", "0", "--admin-host", "http://a.example/")]
    [InlineData("is not a valid collector URL", "--otlp", "localhost:4318")]
    public async Task A_mistake_is_answered_in_one_line(string words, params string[] arguments) =>
        (await Tool.RunAsync(Publication.Program, arguments)).AssertRefused(2, words);

    [Fact]
    public async Task An_admin_address_in_use_is_named()
    {
        using var other = new TcpListener(IPAddress.Loopback, 0);
        other.Start();
        string address = other.LocalEndpoint.ToString()!;

        ToolResult result = await Tool.RunAsync(
            Publication.Program, [Places.SampleSite, "--listen", "127.0.0.1:0", "--admin", address, .. Publication.BackendFlags]);

        result.AssertRefused(1, address);
    }

    private static Task<ServerProcess> StartAsync(params string[] arguments) =>
        ServerProcess.StartAsync([Places.SampleSite, "--listen", "127.0.0.1:0", .. arguments]);

    private static WireResponse Ask(ServerProcess server, string target) => AskOnce(server.Admin, target);

    private static WireResponse AskOnce(Uri admin, string target)
    {
        using Wire wire = Wire.Open(admin);
        return wire.Send(Encoding.ASCII.GetBytes($"GET {target} HTTP/1.1\r\nHost: {admin.Authority}\r\n\r\n"));
    }

    private static async Task AwaitAsync(Uri admin, string target, Func<WireResponse, bool> isAsItShouldBe)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (AskOnce(admin, target) is var response && !isAsItShouldBe(response))
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Deadline, $"{target} is still answered with\n{response.Head}");
            await Task.Delay(10);
        }
    }

    /// <summary>Sends bytes, and reads until the server ends the connection.</summary>
    private static async Task<string> ReplaceAsync(Uri admin, string request)
    {
        using var client = new TcpClient();
        await client.ConnectAsync(admin.Host, admin.Port).WaitAsync(Deadline);
        NetworkStream stream = client.GetStream();
        await stream.WriteAsync(Encoding.ASCII.GetBytes(request));
        using var reader = new StreamReader(stream, Encoding.Latin1);
        return await reader.ReadToEndAsync().WaitAsync(Deadline);
    }

    /// <summary>A server for those that only ask.</summary>
    public sealed class Quiet : IAsyncLifetime
    {
        internal ServerProcess Server { get; private set; } = null!;

        public async ValueTask InitializeAsync() => Server = await StartAsync("--admin", "0");

        public ValueTask DisposeAsync() => Server.DisposeAsync();
    }
}
