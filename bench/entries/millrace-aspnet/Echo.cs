using System.Net.WebSockets;

namespace Millrace.Arena;

/// <summary>A WebSocket that returns each message.</summary>
internal static class Echo
{
    private const int BufferBytes = 4 * 1024;

    public static async Task ServeAsync(HttpContext context)
    {
        if (!context.WebSockets.IsWebSocketRequest)
        {
            context.Response.StatusCode = StatusCodes.Status400BadRequest;
            return;
        }

        using WebSocket socket = await context.WebSockets.AcceptWebSocketAsync();
        byte[] buffer = new byte[BufferBytes];
        ValueWebSocketReceiveResult got;
        while ((got = await socket.ReceiveAsync(buffer.AsMemory(), context.RequestAborted)).MessageType != WebSocketMessageType.Close)
        {
            await socket.SendAsync(buffer.AsMemory(0, got.Count), got.MessageType, got.EndOfMessage, context.RequestAborted);
        }

        await socket.CloseAsync(WebSocketCloseStatus.NormalClosure, null, context.RequestAborted);
    }
}
