// The smallest server on the engine: answers every request head with the same words. Try: curl http://127.0.0.1:5000/
using System.Net;
using Millrace.Engine;

await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions());
Listener listener = await group.ListenAsync(new IPEndPoint(IPAddress.Loopback, 5000), ServeAsync);
Console.WriteLine($"Listening on http://{listener.EndPoint} ({group.BackendName}); Ctrl-C stops.");

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
    // Between two requests it also ends when the group stops; within one, that waits for its end.
    while (await connection.ReadIdleAsync() == ReadOutcome.Data)
    {
        int end;
        while ((end = connection.Input.IndexOf("\r\n\r\n"u8)) >= 0)
        {
            connection.Consume(end + 4);
            connection.Write("HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\nHello, water.\n"u8);
        }

        await connection.FlushAsync();
    }
}
