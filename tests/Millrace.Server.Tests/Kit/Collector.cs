using System.Collections.Concurrent;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Tests.Kit;

/// <summary>An OpenTelemetry collector that keeps what it is sent, over HTTP and protobuf.</summary>
internal sealed class Collector : IAsyncDisposable
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly TcpListener _listener = new(IPAddress.Loopback, 0);
    private readonly CancellationTokenSource _stop = new();
    private readonly ConcurrentQueue<(string Target, byte[] Body)> _exports = new();
    private readonly SemaphoreSlim _arrived = new(0);
    private readonly Task _running;

    public Collector()
    {
        _listener.Start();
        Url = new Uri($"http://{_listener.LocalEndpoint}/");
        _running = RunAsync();
    }

    public Uri Url { get; }

    /// <summary>Waits until an export satisfies, and gives it.</summary>
    public async Task<OtlpMetrics> AwaitAsync(Func<OtlpMetrics, bool> isWanted)
    {
        while (true)
        {
            Assert.True(await _arrived.WaitAsync(Deadline), "Nothing of the kind was exported.");
            Assert.True(_exports.TryDequeue(out (string Target, byte[] Body) export));
            Assert.Equal("/v1/metrics", export.Target);
            OtlpMetrics metrics = OtlpMetrics.Parse(export.Body);
            if (isWanted(metrics))
            {
                return metrics;
            }
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        _listener.Stop();
        await _running;
        _listener.Dispose();
        _arrived.Dispose();
        _stop.Dispose();
    }

    private async Task RunAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                using TcpClient client = await _listener.AcceptTcpClientAsync(_stop.Token);
                await ServeAsync(client.GetStream());
            }
            catch (Exception end) when (end is OperationCanceledException or IOException or SocketException)
            {
                // The test is over, or the exporter.
            }
        }
    }

    private async Task ServeAsync(NetworkStream stream)
    {
        while (await ReadHeadAsync(stream) is { Length: > 0 } head)
        {
            int bytes = int.Parse(Exchange.Field(head, "Content-Length") ?? "0", CultureInfo.InvariantCulture);
            byte[] body = new byte[bytes];
            await stream.ReadExactlyAsync(body, _stop.Token);
            Assert.Equal("application/x-protobuf", Exchange.Field(head, "Content-Type"));
            _exports.Enqueue((head.Split(' ')[1], body));
            _arrived.Release();
            string response = "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";
            await stream.WriteAsync(Encoding.ASCII.GetBytes(response), _stop.Token);
        }
    }

    private async Task<string> ReadHeadAsync(NetworkStream stream)
    {
        var head = new StringBuilder();
        byte[] one = new byte[1];
        while (!head.ToString().EndsWith("\r\n\r\n", StringComparison.Ordinal))
        {
            if (await stream.ReadAsync(one, _stop.Token) == 0)
            {
                return "";
            }

            head.Append((char)one[0]);
        }

        return head.ToString();
    }
}
