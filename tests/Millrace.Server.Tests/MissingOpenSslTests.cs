using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Security.Cryptography;
using System.Text;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests;

/// <summary>Without OpenSSL on the machine the program serves what needs none, and no request ends it.</summary>
public class MissingOpenSslTests
{
    /// <summary>Hides the libraries in a mount namespace of the process.</summary>
    private const string Hide = """
        for library in $(ldconfig -p | awk '/lib(ssl|crypto)\.so/ { print $NF }'); do mount --bind /dev/null "$library"; done
        exec "$@"
        """;

    [Fact]
    public async Task Pages_listings_and_ranges_need_no_openssl()
    {
        using TempFolder folder = NewFolder();
        string[] command = Hidden(folder.Root, "--listen", "127.0.0.1:0", "--listing");
        await using ServerProcess server = await ServerProcess.StartAsync("unshare", command, "Serving ");
        foreach ((string path, string field, int status) in ((string, string, int)[])
        [
            ("/none", "Accept: text/html", 404), ("/", "Accept: text/html", 200), ("/", "Accept: application/json", 200),
            ("/a.txt", "Range: bytes=0-1,4-5", 206), ("/a.txt", "If-None-Match: \"x\"", 200),
        ])
        {
            string[] curl = ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", field, new Uri(server.Url, path).AbsoluteUri];
            ToolResult answer = await Tool.RunAsync("curl", curl);
            Assert.Equal(status.ToString(CultureInfo.InvariantCulture), answer.Output);
        }
    }

    [Fact]
    public async Task A_websocket_of_http_2_needs_none_and_neither_do_the_admin_pages()
    {
        using TempFolder folder = NewFolder();
        using var upstream = new TcpListener(IPAddress.Loopback, 0);
        upstream.Start();
        int admin = FreePort.Find();
        string[] command = Hidden(
            folder.Root, "--listen", "127.0.0.1:0", "--admin", $"127.0.0.1:{admin}", "--proxy", $"/api/* http://{upstream.LocalEndpoint}");
        await using ServerProcess server = await ServerProcess.StartAsync("unshare", command, "Serving ");
        Task echoing = EchoAsync(upstream);
        using var handler = new SocketsHttpHandler();
        using var client = new HttpMessageInvoker(handler);
        using var socket = new ClientWebSocket();
        socket.Options.HttpVersion = HttpVersion.Version20;
        socket.Options.HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact;
        await socket.ConnectAsync(new UriBuilder(new Uri(server.Url, "/api/")) { Scheme = "ws" }.Uri, client, Cancellation);

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, Cancellation);

        await echoing;
        Assert.Equal("200", await StatusAsync(new Uri($"http://127.0.0.1:{admin}/")));
        Assert.Equal("200", await StatusAsync(new Uri(server.Url, "/a.txt")));
    }

    [Theory]
    [InlineData("--https 127.0.0.1:0", "--https")]
    [InlineData("--auth USERS", "--auth")]
    [InlineData("--proxy '/api/* https://127.0.0.1:1'", "--proxy")]
    [InlineData("--otlp https://127.0.0.1:1", "--otlp")]
    public async Task What_needs_it_says_so_at_a_start_and_in_check_and_doctor(string options, string name)
    {
        using TempFolder folder = NewFolder();
        folder.WriteText("users", "");
        string[] flags = [.. options.Replace("USERS", folder.PathOf("users"), StringComparison.Ordinal).Split('\'')
            .SelectMany(static (part, i) => i % 2 == 1 ? [part] : part.Split(' ', StringSplitOptions.RemoveEmptyEntries))];
        foreach (string[] command in (string[][])[[folder.Root], ["check", folder.Root], ["doctor", folder.Root]])
        {
            ToolResult refused = await Tool.RunAsync("unshare", Hidden([.. command, .. flags]));
            Assert.Equal(2, refused.ExitCode);
            Assert.Contains($"{name} ", refused.Error, StringComparison.Ordinal);
            Assert.Contains("needs OpenSSL 3, and libcrypto.so.3 cannot be loaded. Install", refused.Error, StringComparison.Ordinal);
        }
    }

    private static CancellationToken Cancellation => TestContext.Current.CancellationToken;

    private static TempFolder NewFolder()
    {
        Nobody.RequireRoot();
        Assert.SkipWhen(Publication.IsOrdinary, "The ordinary build loads OpenSSL with .NET.");
        var folder = new TempFolder();
        folder.WriteText("a.txt", "0123456789");
        return folder;
    }

    private static string[] Hidden(params string[] arguments) =>
        ["--mount", "sh", "-c", Hide, "sh", Publication.Program, .. arguments];

    private static async Task<string> StatusAsync(Uri url) =>
        (await Tool.RunAsync("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", url.AbsoluteUri])).Output;

    /// <summary>An application that takes one WebSocket, and sends back what comes.</summary>
    private static async Task EchoAsync(TcpListener listener)
    {
        using TcpClient client = await listener.AcceptTcpClientAsync(Cancellation);
        NetworkStream stream = client.GetStream();
        using var reader = new StreamReader(stream, leaveOpen: true);
        string key = "";
        while (await reader.ReadLineAsync(Cancellation) is { Length: > 0 } line)
        {
            key = line.StartsWith("Sec-WebSocket-Key: ", StringComparison.OrdinalIgnoreCase) ? line[19..] : key;
        }

#pragma warning disable CA5350 // The protocol of WebSockets has it.
        string accept = Convert.ToBase64String(SHA1.HashData(Encoding.ASCII.GetBytes(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
#pragma warning restore CA5350
        await stream.WriteAsync(
            Encoding.ASCII.GetBytes(
                $"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"),
            Cancellation);
        using var socket = WebSocket.CreateFromStream(stream, new WebSocketCreationOptions { IsServer = true });
        WebSocketReceiveResult received = await socket.ReceiveAsync(new byte[100], Cancellation);
        Assert.Equal(WebSocketMessageType.Close, received.MessageType);
        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, Cancellation);
    }
}
