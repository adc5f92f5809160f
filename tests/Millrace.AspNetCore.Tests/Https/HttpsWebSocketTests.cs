using System.Net;
using System.Net.WebSockets;
using System.Security.Cryptography;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>WebSockets over TLS, by HTTP/1.1 and HTTP/2.</summary>
public class HttpsWebSocketTests
{
    private const int MessageBytes = 4_000_000;

    [Theory, EachHttps]
    public async Task Large_messages_go_both_ways_at_once(HttpsKind kind)
    {
        byte[] toServer = RandomNumberGenerator.GetBytes(MessageBytes);
        byte[] toClient = RandomNumberGenerator.GetBytes(MessageBytes);
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, async context =>
        {
            using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
            await socket.ReplaceAsync(toClient, toServer);
            await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "equal", CancellationToken.None);
        });
        foreach (Version version in (Version[])[HttpVersion.Version11, HttpVersion.Version20])
        {
            using HttpClient invoker = application.NewClient(version);
            using var client = new ClientWebSocket();
            client.Options.HttpVersion = version;
            client.Options.HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact;
            var url = new UriBuilder(application.Url) { Scheme = "wss" };
            await client.ConnectAsync(url.Uri, invoker, CancellationToken.None).Within();

            await client.ReplaceAsync(toServer, toClient).Within();

            Assert.Equal(WebSocketMessageType.Close, (await client.ReceiveAsync(new byte[10], CancellationToken.None).Within()).MessageType);
            Assert.Equal("equal", client.CloseStatusDescription);
        }
    }
}
