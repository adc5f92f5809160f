// An echo server by lines, written for pipes: what you type comes back reversed. Try: nc 127.0.0.1 5001
using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using Millrace.Engine;

using var stopping = new CancellationTokenSource();
await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions());
Listener listener = await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 5001), ServeAsync);
Console.WriteLine($"Listening on {listener.EndPoint} ({group.BackendName}); Ctrl-C stops.");

var stop = new TaskCompletionSource();
Console.CancelKeyPress += (_, e) =>
{
    e.Cancel = true;
    stop.TrySetResult();
};
await stop.Task;
await stopping.CancelAsync();
await group.StopAsync(drain: TimeSpan.FromSeconds(5));

async Task ServeAsync(Connection connection)
{
    IDuplexPipe pipe = connection.AsDuplexPipe();
    // A pipe does not know where a line ends, and so not whether its reader is idle: it is woken, and looks.
    using CancellationTokenRegistration wake = stopping.Token.Register(pipe.Input.CancelPendingRead);
    ReadResult read;
    bool isIdle;
    do
    {
        read = await pipe.Input.ReadAsync();
        ReadOnlySequence<byte> lines = read.Buffer;
        while (lines.PositionOf((byte)'\n') is { } end)
        {
            byte[] line = lines.Slice(0, end).ToArray();
            Array.Reverse(line);
            pipe.Output.Write(line);
            pipe.Output.Write("\n"u8);
            lines = lines.Slice(lines.GetPosition(1, end));
        }

        isIdle = lines.IsEmpty;
        pipe.Input.AdvanceTo(lines.Start, lines.End);
        await pipe.Output.FlushAsync();
    }
    while (!read.IsCompleted && !(isIdle && stopping.IsCancellationRequested));
}
