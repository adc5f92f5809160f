using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Proxies;

/// <summary>The published program with proxies in front of it, and at several addresses.</summary>
public sealed class ProxyTests : IDisposable
{
    private const string Line = "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\r\n";

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly TempFolder _folder = new();

    private string LogPath => _folder.PathOf("access.log");

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task The_log_has_the_client_that_the_preface_names()
    {
        await using ServerProcess server = await StartAsync("--listen", "127.0.0.1:0", "--proxy-protocol", "--trusted-proxy", "127.0.0.1");
        using (Wire wire = Wire.Open(server.Url))
        {
            Assert.Equal(404, wire.Send(Encoding.ASCII.GetBytes($"{Line}GET /one HTTP/1.1\r\nHost: a\r\n\r\n")).Status);
            Assert.Equal(404, wire.Ask("/two").Status);
        }

        using (Wire wire = Wire.Open(server.Url))
        {
            Assert.ThrowsAny<IOException>(() => wire.Ask("/direct"));
        }

        string[] lines = await StopAsync(server);
        Assert.Equal([("192.0.2.1", "/one"), ("192.0.2.1", "/two")], lines.Select(static line => (Text(line, "client"), Text(line, "target"))));
        Assert.Contains("PROXY header is missing or malformed", await server.ErrorAsync(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_preface_stands_before_tls()
    {
        using var keys = new TempFolder();
        await using ServerProcess server = await StartAsync(
            ["--https", "127.0.0.1:0", .. OwnCertificate.Make(keys, "a", "a.example"), "--proxy-protocol", "--trusted-proxy", "127.0.0.0/8"]);
        using (var socket = new Socket(SocketType.Stream, ProtocolType.Tcp))
        {
            await socket.ConnectAsync(server.Url.Host, server.Url.Port, TestContext.Current.CancellationToken);
            await socket.SendAsync(Encoding.ASCII.GetBytes(Line));
#pragma warning disable CA5359 // Whose certificate it is does not matter here.
            using var tls = new SslStream(new NetworkStream(socket), false, static (_, _, _, _) => true);
#pragma warning restore CA5359
            await tls.AuthenticateAsClientAsync("a.example").WaitAsync(Patience, TestContext.Current.CancellationToken);
            await tls.WriteAsync(Encoding.ASCII.GetBytes("GET /secret HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"), TestContext.Current.CancellationToken);
            using var reader = new StreamReader(tls);
            Assert.StartsWith("HTTP/1.1 404", await reader.ReadToEndAsync(TestContext.Current.CancellationToken).WaitAsync(Patience), StringComparison.Ordinal);
        }

        string line = Assert.Single(await StopAsync(server));
        Assert.Equal(("192.0.2.1", "/secret"), (Text(line, "client"), Text(line, "target")));
    }

    [Fact]
    public async Task Fields_are_believed_of_trusted_proxies_only()
    {
        await using ServerProcess server = await StartAsync("--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.0/8", "--trusted-proxy", "10.0.0.0/8");
        _ = Wire.Get(server.Url, "/", "X-Forwarded-For: 9.9.9.9, 192.0.2.7, 10.1.1.1");
        string line = Assert.Single(await StopAsync(server));
        Assert.Equal(("192.0.2.7", "127.0.0.1"), (Text(line, "client"), Text(line, "peer")));

        File.Delete(LogPath);
        await using ServerProcess strict = await StartAsync("--listen", "127.0.0.1:0");
        _ = Wire.Get(strict.Url, "/", "X-Forwarded-For: 192.0.2.7");
        Assert.Equal("127.0.0.1", Text(Assert.Single(await StopAsync(strict)), "client"));
    }

    // RFC 9110 section 7.4: an https resource is for connections that are secured, or that come from a gateway that is trusted.
    [Fact]
    public async Task An_https_resource_is_for_tls_and_trusted_proxies_only()
    {
        using var keys = new TempFolder();
        string path = _folder.PathOf("m.sock");
        await using ServerProcess strict = await StartAsync(
            ["--listen", "127.0.0.1:0", "--listen", $"unix:{path}", "--https", "127.0.0.1:0", .. OwnCertificate.Make(keys, "a", "a.example")]);
        Uri secure = new(strict.Addresses.Single(static address => address.StartsWith("https", StringComparison.Ordinal)));
        Uri plain = new(strict.Addresses.Single(static address => address.StartsWith("http:", StringComparison.Ordinal)));
        Assert.Equal(421, Wire.Get(plain, "https://a.example/").Status);
        Assert.Equal(200, Wire.Get(plain, "http://a.example/").Status);
        Assert.Equal(200, Wire.Get(secure, "https://a.example/").Status);
        Assert.StartsWith("HTTP/1.1 421", await AskUnixAsync(path, "https://a.example/", preface: ""), StringComparison.Ordinal);
        _ = await StopAsync(strict);
        File.Delete(LogPath);

        await using ServerProcess trusting = await StartAsync(
            "--listen", "127.0.0.1:0", "--listen", $"unix:{path}", "--trusted-proxy", "127.0.0.0/8", "--trusted-proxy", "unix");
        Assert.Equal(200, Wire.Get(trusting.Url, "https://a.example/").Status);
        Assert.StartsWith("HTTP/1.1 200", await AskUnixAsync(path, "https://a.example/", preface: ""), StringComparison.Ordinal);
        _ = await StopAsync(trusting);
        File.Delete(LogPath);

        // By the PROXY protocol the client is a stranger, and the gateway is not.
        await using ServerProcess proxied = await StartAsync(
            "--listen", "127.0.0.1:0", "--proxy-protocol", "--trusted-proxy", "127.0.0.1");
        using (Wire wire = Wire.Open(proxied.Url))
        {
            Assert.Equal(200, wire.Send(Encoding.ASCII.GetBytes($"{Line}GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n")).Status);
        }

        _ = await StopAsync(proxied);
    }

    [Fact]
    public async Task Addresses_of_all_kinds_are_served_together()
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "There is no IPv6 here.");
        using var keys = new TempFolder();
        string socket = _folder.PathOf("m.sock");
        await using ServerProcess server = await StartAsync(
        [
            "--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--listen", $"unix:{socket}", "--https", "[::1]:0",
            .. OwnCertificate.Make(keys, "a", "a.example"), "--proxy-protocol", $"unix:{socket}", "--unix-mode", "0600",
        ]);
#pragma warning disable CA1416 // The server is Linux's.
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(socket));
#pragma warning restore CA1416
        Uri[] addresses = [.. server.Addresses.Where(static address => address.StartsWith("http", StringComparison.Ordinal)).Select(static address => new Uri(address))];
        using HttpClient client = OwnCertificate.Trusting();
        foreach (Uri address in addresses)
        {
            using HttpResponseMessage response = await client.GetAsync(new Uri(address, $"/{address.Port}"), TestContext.Current.CancellationToken);
            Assert.Equal(HttpStatusCode.NotFound, response.StatusCode);
        }

        Assert.StartsWith("HTTP/1.1 404", await AskUnixAsync(socket, "/unix", Line), StringComparison.Ordinal);
        string[] lines = await StopAsync(server);

        Assert.Equal(3, addresses.Length);
        Assert.Equal(
            addresses.Select(static address => ($"/{address.Port}", address.Host.Trim('[', ']'))).Append(("/unix", "192.0.2.1")).Order(),
            lines.Select(static line => (Text(line, "target"), Text(line, "client"))).Order());
        Assert.False(File.Exists(socket));
    }

    [Theory]
    [InlineData("needs to know who may send it", "--listen", "127.0.0.1:0", "--proxy-protocol")]
    [InlineData("is not an address of --listen or --https", "--listen", "127.0.0.1:0", "--proxy-protocol", "127.0.0.1:9", "--trusted-proxy", "127.0.0.1")]
    [InlineData("is not a network", "--trusted-proxy", "10.0.0.0/33")]
    [InlineData("is not a network", "--trusted-proxy", "everybody")]
    [InlineData("is not a file mode", "--unix-mode", "rw")]
    [InlineData("is not a file mode", "--unix-mode", "4777")]
    [InlineData("is not a client field", "--client-field", "x-real-ip")]
    public async Task A_mistake_is_answered_in_one_line(string words, params string[] arguments) =>
        (await Tool.RunAsync(Publication.Program, [_folder.Root, .. arguments])).AssertRefused(2, words);

    private static async Task<string> AskUnixAsync(string path, string target, string preface)
    {
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), TestContext.Current.CancellationToken);
        await socket.SendAsync(Encoding.ASCII.GetBytes($"{preface}GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        using var reader = new StreamReader(new NetworkStream(socket));
        return await reader.ReadToEndAsync(TestContext.Current.CancellationToken).WaitAsync(Patience);
    }

    private static string Text(string line, string member) => JsonDocument.Parse(line).RootElement.GetProperty(member).GetString()!;

    private async Task<string[]> StopAsync(ServerProcess server)
    {
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
        return File.ReadAllLines(LogPath);
    }

    private Task<ServerProcess> StartAsync(params string[] arguments) =>
        ServerProcess.StartAsync([Places.SampleSite, .. arguments, "--access-log", LogPath, "--access-log-format", "json"]);
}
