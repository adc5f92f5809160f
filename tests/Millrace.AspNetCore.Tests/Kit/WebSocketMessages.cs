using System.Net.WebSockets;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>Messages of a WebSocket, put together of their frames.</summary>
internal static class WebSocketMessages
{
    public static async Task<byte[]> ReceiveMessageAsync(this WebSocket socket)
    {
        using var message = new MemoryStream();
        byte[] buffer = new byte[65_536];
        ValueWebSocketReceiveResult got;
        do
        {
            got = await socket.ReceiveAsync(buffer.AsMemory(), CancellationToken.None).Within();
            message.Write(buffer, 0, got.Count);
        }
        while (!got.EndOfMessage);
        return message.ToArray();
    }
}
