using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Security.Cryptography;
using System.Text;
using Millrace.Server.Tests.Kit;
using Millrace.Server.Tests.Proxying.Kit;

namespace Millrace.Server.Tests.Proxying;

/// <summary>WebSockets of .NET's client through the program: by Upgrade, and over HTTP/2 by extended CONNECT (RFC 8441).</summary>
public class WebSocketTests
{
    [Theory]
    [InlineData("1.1", false)]
    [InlineData("1.1", true)]
    [InlineData("2.0", false)]
    [InlineData("2.0", true)]
    public async Task Hundreds_of_sockets_end_in_order(string version, bool isSecure)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream));
        using var invoker = new HttpMessageInvoker(new SocketsHttpHandler
        {
            SslOptions = { RemoteCertificateValidationCallback = OwnCertificate.IsAnything },
        });
        var url = new UriBuilder(isSecure ? site.SecureUrl : site.Url) { Scheme = isSecure ? "wss" : "ws", Path = "/api/socket" };
        for (int round = 0; round < 50; round++)
        {
            await Task.WhenAll(Enumerable.Range(0, 8).Select(id => EchoAsync(version, url.Uri, invoker, $"{round} {id}")));
        }
    }

    /// <summary>Applications that are done with a socket may reset it behind their last frame.</summary>
    [Theory]
    [InlineData("1.1", false)]
    [InlineData("1.1", true)]
    [InlineData("2.0", false)]
    [InlineData("2.0", true)]
    public async Task A_close_frame_before_a_reset_reaches_the_client(string version, bool resets)
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        await using ProxiedSite site = await ProxiedSite.StartAsync(
            string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{((IPEndPoint)listener.LocalEndPoint!).Port}"));
        using var invoker = new HttpMessageInvoker(new SocketsHttpHandler());
        var url = new UriBuilder(site.Url) { Scheme = "ws", Path = "/api/socket" };
        for (int round = 0; round < 30; round++)
        {
            Task serving = CloseAfterFrameAsync(listener, resets);
            using var socket = new ClientWebSocket();
            socket.Options.HttpVersion = Version.Parse(version);
            socket.Options.HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact;
            await socket.ConnectAsync(url.Uri, invoker, TestContext.Current.CancellationToken);
            await socket.SendAsync("x"u8.ToArray(), WebSocketMessageType.Text, true, TestContext.Current.CancellationToken);
            WebSocketReceiveResult got = await socket.ReceiveAsync(new byte[10], TestContext.Current.CancellationToken);
            Assert.Equal((WebSocketMessageType.Close, WebSocketCloseStatus.NormalClosure), (got.MessageType, got.CloseStatus));
            await serving;
        }
    }

    private static async Task CloseAfterFrameAsync(Socket listener, bool resets)
    {
        using Socket socket = await listener.AcceptAsync(TestContext.Current.CancellationToken);
        byte[] buffer = new byte[4_096];
        string head = "";
        while (!head.EndsWith("\r\n\r\n", StringComparison.Ordinal))
        {
            head += Encoding.ASCII.GetString(buffer, 0, await socket.ReceiveAsync(buffer, TestContext.Current.CancellationToken));
        }

#pragma warning disable CA5350 // As RFC 6455 defines it.
        string accept = Convert.ToBase64String(SHA1.HashData(
            Encoding.ASCII.GetBytes(Exchange.Field(head, "Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")));
#pragma warning restore CA5350
        await socket.SendAsync(Encoding.ASCII.GetBytes(
            $"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"));
        await socket.ReceiveAsync(buffer, TestContext.Current.CancellationToken);
        await socket.SendAsync(new byte[] { 0x88, 2, 0x03, 0xE8 });
        if (resets)
        {
            socket.LingerState = new LingerOption(enable: true, 0);
        }
    }

    private static async Task EchoAsync(string version, Uri url, HttpMessageInvoker invoker, string text)
    {
        using var socket = new ClientWebSocket();
        socket.Options.HttpVersion = Version.Parse(version);
        socket.Options.HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact;
        await socket.ConnectAsync(url, invoker, TestContext.Current.CancellationToken);
        await socket.SendAsync(Encoding.ASCII.GetBytes(text), WebSocketMessageType.Text, true, TestContext.Current.CancellationToken);
        byte[] buffer = new byte[100];
        WebSocketReceiveResult got = await socket.ReceiveAsync(buffer, TestContext.Current.CancellationToken);
        Assert.Equal(text, Encoding.ASCII.GetString(buffer, 0, got.Count));
        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, TestContext.Current.CancellationToken);
        Assert.Equal((WebSocketState.Closed, WebSocketCloseStatus.NormalClosure), (socket.State, socket.CloseStatus));
    }
}
