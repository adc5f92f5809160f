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

    /// <summary>Three messages out and three in, all at the same time: who waits with one for the other would wait for ever.</summary>
    public static async Task ReplaceAsync(this WebSocket socket, byte[] sent, byte[] expected)
    {
        Task sending = Task.Run(async () =>
        {
            for (int i = 0; i < 3; i++)
            {
                await socket.SendAsync(sent, WebSocketMessageType.Binary, endOfMessage: true, CancellationToken.None);
            }
        });
        for (int i = 0; i < 3; i++)
        {
            byte[] got = await socket.ReceiveMessageAsync();
            Assert.True(expected.AsSpan().SequenceEqual(got), "Another message than was sent.");
        }

        await sending;
    }
}
