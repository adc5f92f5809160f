using System.Net.Sockets;
using System.Text;

namespace Millrace.HttpServer.Tests.Upstreams.Kit;

/// <summary>The upstream's end of one connection. Bounded by a deadline.</summary>
internal sealed class UpstreamWire(Socket socket) : IDisposable
{
    private readonly CancellationTokenSource _deadline = new(TimeSpan.FromSeconds(60));
    private readonly List<byte> _input = [];

    public Socket Socket => socket;

    public Task SendAsync(string text) => SendAsync(Encoding.Latin1.GetBytes(text));

    public async Task SendAsync(ReadOnlyMemory<byte> bytes)
    {
        while (!bytes.IsEmpty)
        {
            bytes = bytes[await socket.SendAsync(bytes, SocketFlags.None, _deadline.Token)..];
        }
    }

    /// <summary>Sends each byte by itself, so that most arrive alone.</summary>
    public async Task SendSlowlyAsync(string text)
    {
        socket.NoDelay = true;
        foreach (byte value in Encoding.Latin1.GetBytes(text))
        {
            await SendAsync(new[] { value });
            await Task.Yield();
        }
    }

    /// <summary>The head of the next request with its empty line.</summary>
    public async Task<string> ReadHeadAsync()
    {
        while (true)
        {
            int end = Encoding.Latin1.GetString([.. _input]).IndexOf("\r\n\r\n", StringComparison.Ordinal);
            if (end >= 0)
            {
                return Take(end + 4);
            }

            Assert.True(await FillAsync() > 0, "The connection ended before a head was complete.");
        }
    }

    public async Task<string> ReadAsync(int count)
    {
        while (_input.Count < count)
        {
            Assert.True(await FillAsync() > 0, $"The connection ended after {_input.Count} of {count} bytes.");
        }

        return Take(count);
    }

    /// <summary>All that comes until the other side ends its direction.</summary>
    public async Task<string> ReadToEndAsync()
    {
        while (await FillAsync() > 0)
        {
        }

        return Take(_input.Count);
    }

    /// <summary>The other side ends the connection, in order or with a reset, and sends nothing before.</summary>
    public async Task AssertEndsAsync()
    {
        try
        {
            Assert.Equal("", await ReadToEndAsync());
        }
        catch (SocketException reset) when (reset.SocketErrorCode == SocketError.ConnectionReset)
        {
            Assert.False(_deadline.IsCancellationRequested);
        }
    }

    public void FinishSending() => socket.Shutdown(SocketShutdown.Send);

    public void Reset()
    {
        socket.LingerState = new LingerOption(true, 0);
        socket.Close();
    }

    public void Dispose()
    {
        socket.Dispose();
        _deadline.Dispose();
    }

    private async Task<int> FillAsync()
    {
        byte[] buffer = new byte[64 * 1024];
        int count = await socket.ReceiveAsync(buffer, SocketFlags.None, _deadline.Token);
        _input.AddRange(buffer.AsSpan(0, count));
        return count;
    }

    private string Take(int count)
    {
        string taken = Encoding.Latin1.GetString([.. _input[..count]]);
        _input.RemoveRange(0, count);
        return taken;
    }
}
