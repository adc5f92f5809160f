// An echo server by lines, written for pipes: what you type comes back reversed. Try: nc 127.0.0.1 5001
using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using Millrace.Engine;

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
await group.StopAsync(drain: TimeSpan.FromSeconds(5));

static async Task ServeAsync(Connection connection)
{
    IDuplexPipe pipe = connection.AsDuplexPipe();
    ReadResult read;
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

        pipe.Input.AdvanceTo(lines.Start, lines.End);
        await pipe.Output.FlushAsync();
    }
    while (!read.IsCompleted);
}
