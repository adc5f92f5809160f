using System.Net;
using System.Net.Sockets;

namespace Millrace.Acme.Tests.Kit;

/// <summary>Sends the same bytes to everybody who connects and says something, and closes.</summary>
internal sealed class RawServer : IAsyncDisposable
{
    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _end = new();
    private readonly byte[] _answer;
    private readonly Task _accepting;

    private RawServer(byte[] answer)
    {
        _answer = answer;
        _listener.Start();
        Url = new Uri($"http://{_listener.LocalEndpoint}/dir");
        _accepting = AcceptAsync();
    }

    public Uri Url { get; }

    public static RawServer Start(byte[] answer) => new(answer);

    public async ValueTask DisposeAsync()
    {
        await _end.CancelAsync();
        await _accepting;
        _listener.Dispose();
        _end.Dispose();
    }

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                using Socket socket = await _listener.AcceptSocketAsync(_end.Token);
                await socket.ReceiveAsync(new byte[4096], _end.Token);
                await socket.SendAsync(_answer, _end.Token);
                socket.Shutdown(SocketShutdown.Both);
            }
        }
        catch (OperationCanceledException)
        {
            // The end.
        }
    }
}
