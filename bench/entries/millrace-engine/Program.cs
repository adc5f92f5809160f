// The engine entry: HTTP/1.1 on the engine, by hand, with the static-file library for /static/. Settings: ArenaSettings.
using System.Globalization;
using System.Runtime.InteropServices;
using Millrace.Arena;

CultureInfo.CurrentCulture = CultureInfo.InvariantCulture;
var stop = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
using var onTerminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
using var onInterrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);
await using ArenaServer server = await ArenaServer.StartAsync(ArenaSettings.FromEnvironment());
Console.WriteLine($"Listening on {server.Url} ({server.BackendName})");
await stop.Task;
await server.StopAsync();

void Stop(PosixSignalContext signal)
{
    signal.Cancel = true;
    stop.TrySetResult();
}
