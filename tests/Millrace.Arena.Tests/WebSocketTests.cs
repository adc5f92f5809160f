using System.Net;
using System.Net.WebSockets;
using System.Text;
using Millrace.Arena.Tests.Kit;

namespace Millrace.Arena.Tests;

/// <summary>The profile echo-ws.</summary>
public class WebSocketTests(Entries entries)
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    [Theory]
    [MemberData(nameof(Cases.AspNet), MemberType = typeof(Cases))]
    public async Task Messages_come_back_as_they_were_sent(string entry, string backend)
    {
        using ClientWebSocket socket = await ConnectAsync(await entries.GetAsync(entry, backend));
        byte[] noise = new byte[256];
        Random.Shared.NextBytes(noise);
        byte[] text = Encoding.ASCII.GetBytes($"validate-{Guid.NewGuid():N}");

        await SendAsync(socket, text, WebSocketMessageType.Text);
        await AssertNextAsync(socket, text, WebSocketMessageType.Text);
        await SendAsync(socket, noise, WebSocketMessageType.Binary);
        await AssertNextAsync(socket, noise, WebSocketMessageType.Binary);

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, "done", CancellationToken.None).WaitAsync(Patience);
        Assert.Equal(WebSocketCloseStatus.NormalClosure, socket.CloseStatus);
    }

    [Theory]
    [MemberData(nameof(Cases.AspNet), MemberType = typeof(Cases))]
    public async Task Five_messages_at_once_come_back_in_order(string entry, string backend)
    {
        using ClientWebSocket socket = await ConnectAsync(await entries.GetAsync(entry, backend));
        byte[][] messages = [.. Enumerable.Range(0, 5).Select(static i => Encoding.ASCII.GetBytes($"{i} {Guid.NewGuid():N}"))];
        foreach (byte[] message in messages)
        {
            await SendAsync(socket, message, WebSocketMessageType.Text);
        }

        foreach (byte[] message in messages)
        {
            await AssertNextAsync(socket, message, WebSocketMessageType.Text);
        }
    }

    [Theory]
    [MemberData(nameof(Cases.AspNet), MemberType = typeof(Cases))]
    public async Task A_request_that_does_not_upgrade_is_refused(string entry, string backend)
    {
        HttpClient client = (await entries.GetAsync(entry, backend)).Client(BoardPort.Http);

        Assert.Equal(HttpStatusCode.BadRequest, (await client.GetAsync("/ws")).StatusCode);
    }

    private static async Task<ClientWebSocket> ConnectAsync(RunningEntry running)
    {
        var socket = new ClientWebSocket();
        var url = new UriBuilder(running.Url(BoardPort.Http, "/ws")) { Scheme = "ws" };
        await socket.ConnectAsync(url.Uri, CancellationToken.None).WaitAsync(Patience);
        return socket;
    }

    private static Task SendAsync(ClientWebSocket socket, byte[] message, WebSocketMessageType type) =>
        socket.SendAsync(message.AsMemory(), type, endOfMessage: true, CancellationToken.None).AsTask().WaitAsync(Patience);

    private static async Task AssertNextAsync(ClientWebSocket socket, byte[] expected, WebSocketMessageType type)
    {
        byte[] buffer = new byte[4096];
        ValueWebSocketReceiveResult got = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None).AsTask().WaitAsync(Patience);

        Assert.Equal(type, got.MessageType);
        Assert.Equal(expected, buffer[..got.Count]);
    }
}
