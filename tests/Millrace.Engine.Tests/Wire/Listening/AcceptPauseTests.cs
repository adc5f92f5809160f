using System.Diagnostics;
using System.Net;
using Millrace.Engine.Listening;
using Millrace.Engine.Tests.Wire.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Wire.Listening;

/// <summary>
/// A listener whose accepts fail: its socket is shut down, which is EINVAL, and made to listen again. (Running out of descriptors
/// takes the same way, but ends the runtime too, which needs some for its own.)
/// </summary>
public class AcceptPauseTests : EngineTest
{
    private const int AcceptPaused = 200;

    [Fact]
    public async Task A_listener_that_cannot_accept_pauses_without_spinning_and_goes_on_when_it_can()
    {
        TestServer server = await Serve(
            Handlers.Echo, Options with { Limits = new Limits { AcceptPause = TimeSpan.FromMilliseconds(20) } });
        TestClient first = await server.Connect();
        Assert.Equal([1], await first.Exchange([1]));

        int socket = ListenSocket(server.EndPoint);
        Assert.Equal(0, SocketCalls.Shutdown(socket, ShutdownHow.Both));
        await Eventually(() => Log.Of(AcceptPaused).Count > 0);
        long start = Stopwatch.GetTimestamp();
        long iterations = server.Reactor.Counters.Iterations;
        await Eventually(() => server.Reactor.Counters.Iterations > iterations + 10);
        Assert.True(Stopwatch.GetElapsedTime(start) > TimeSpan.FromMilliseconds(60), "The listener spins.");
        Assert.Equal([2], await first.Exchange([2]));

        Assert.Equal(0, SocketCalls.Listen(socket, 16));
        // The shutdown gave its port up, which had been any free one.
        EndPoint again = SocketEndPoint.OfSocket(socket, out _)!;
        Assert.Equal([3], await (await Connect(again)).Exchange([3]));
        Assert.Single(Log.Of(AcceptPaused));
    }

    [Fact]
    public async Task A_listener_that_is_stopped_while_it_pauses_stays_stopped()
    {
        TestServer server = await Serve(
            Handlers.Echo, Options with { Limits = new Limits { AcceptPause = TimeSpan.FromMilliseconds(150) } });
        TestClient client = await server.Connect();
        Assert.Equal([1], await client.Exchange([1]));
        Assert.Equal(0, SocketCalls.Shutdown(ListenSocket(server.EndPoint), ShutdownHow.Both));
        await Eventually(() => Log.Of(AcceptPaused).Count > 0);

        await server.Listener.StopAsync().WaitAsync(Patience);
        // Sleeps: the pause is over before it is looked for.
        await Task.Delay(200);
        Assert.Equal([2], await client.Exchange([2]));
    }

    /// <summary>The descriptor that is bound to the address and has no peer.</summary>
    private static int ListenSocket(EndPoint endPoint) => Directory.EnumerateFileSystemEntries("/proc/self/fd")
        .Select(static path => int.Parse(Path.GetFileName(path), System.Globalization.CultureInfo.InvariantCulture))
        .First(fd => IsOfFamily(fd, endPoint)
            && endPoint.Equals(SocketEndPoint.OfSocket(fd, out _)) && SocketEndPoint.OfPeer(fd) is null);

    private static bool IsOfFamily(int fd, EndPoint endPoint)
    {
        Span<byte> address = stackalloc byte[128];
        return SocketCalls.LocalAddress(fd, address) > 0 && address[0] == SocketEndPoint.Family(endPoint);
    }
}
