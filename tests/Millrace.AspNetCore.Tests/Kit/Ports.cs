using System.Diagnostics;
using System.Net;
using System.Net.Sockets;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>Whether somebody listens there.</summary>
internal static class Ports
{
    /// <summary>Waits until a connection is refused.</summary>
    public static async Task RefusedAsync(EndPoint endPoint)
    {
        for (var watch = Stopwatch.StartNew(); ; await Task.Delay(5))
        {
            Assert.True(watch.Elapsed < Waiting.Patience, $"{endPoint} still accepts connections.");
            try
            {
                using RawClient client = await RawClient.ConnectAsync(endPoint);
            }
            catch (SocketException error) when (error.SocketErrorCode == SocketError.ConnectionRefused)
            {
                return;
            }
            catch (SocketException error) when (error.SocketErrorCode == SocketError.ConnectionReset)
            {
                // It was in the queue when the listener closed.
            }
        }
    }

    /// <summary>Waits until a request is answered.</summary>
    public static async Task AnsweredAsync(EndPoint endPoint)
    {
        for (var watch = Stopwatch.StartNew(); ; await Task.Delay(5))
        {
            Assert.True(watch.Elapsed < Waiting.Patience, $"{endPoint} does not answer.");
            try
            {
                using RawClient client = await RawClient.ConnectAsync(endPoint);
                await client.SendAsync("GET / HTTP/1.1\r\nHost: site\r\nConnection: close\r\n\r\n");
                if ((await client.ReadToEndAsync()).Text.StartsWith("HTTP/1.1 200 ", StringComparison.Ordinal))
                {
                    return;
                }
            }
            catch (SocketException error) when (error.SocketErrorCode is SocketError.ConnectionRefused or SocketError.ConnectionReset)
            {
                // Not yet.
            }
        }
    }
}
