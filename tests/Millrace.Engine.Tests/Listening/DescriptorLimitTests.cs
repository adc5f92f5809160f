using System.Net.Sockets;
using System.Runtime.InteropServices;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Listening;

/// <summary>Out of descriptors (EMFILE), by lowering the limit of this very process for a moment.</summary>
public partial class DescriptorLimitTests : EngineTest
{
    private const int AcceptPaused = 200;

    [Fact]
    public async Task Accepting_pauses_without_descriptors_and_goes_on_with_them()
    {
        TestServer server = await Serve(
            Handlers.Echo, Options with { Limits = new Limits { AcceptPause = TimeSpan.FromMilliseconds(20) } });
        TestClient first = await server.Connect();
        Assert.Equal([1], await first.Exchange([1]));
        using TestClient waiting = new(AddressFamily.InterNetwork);

        using (new LoweredLimit())
        {
            await waiting.Socket.ConnectAsync(server.EndPoint);
            await Eventually(() => Log.Of(AcceptPaused).Count > 0);
            long turns = server.Reactor.Counters.Turns;
            Assert.Equal([2], await first.Exchange([2]));
            await Task.Delay(200);
            Assert.InRange(server.Reactor.Counters.Turns - turns, 1, 100);
        }

        Assert.Equal([3], await waiting.Exchange([3]));
        Assert.Single(Log.Of(AcceptPaused));
    }

    [Fact]
    public async Task A_listener_that_is_stopped_while_it_pauses_stays_stopped()
    {
        TestServer server = await Serve(
            Handlers.Echo, Options with { Limits = new Limits { AcceptPause = TimeSpan.FromMilliseconds(100) } });
        TestClient first = await server.Connect();
        Assert.Equal([1], await first.Exchange([1]));
        using TestClient waiting = new(AddressFamily.InterNetwork);
        using (new LoweredLimit())
        {
            await waiting.Socket.ConnectAsync(server.EndPoint);
            await Eventually(() => Log.Of(AcceptPaused).Count > 0);
        }

        await server.Listener.StopAsync().WaitAsync(Patience);
        await Task.Delay(200);
        Assert.Equal([2], await first.Exchange([2]));
        Assert.Equal([3], await waiting.Exchange([3]));
    }

    /// <summary>No descriptor can be opened while it lasts: the soft limit is the highest number in use.</summary>
    private sealed partial class LoweredLimit : IDisposable
    {
        private const int NoFile = 7;

        private readonly ulong[] _before = new ulong[2];

        public unsafe LoweredLimit()
        {
            // The lowest free number: below it everything is taken.
            using var probe = File.OpenHandle("/dev/null");
            int lowestFree = (int)probe.DangerousGetHandle();
            fixed (ulong* before = _before)
            {
                ulong* lowered = stackalloc ulong[2];
                Assert.Equal(0, prlimit(0, NoFile, null, before));
                lowered[0] = (ulong)lowestFree;
                lowered[1] = before[1];
                Assert.Equal(0, prlimit(0, NoFile, lowered, null));
            }
        }

        public unsafe void Dispose()
        {
            fixed (ulong* before = _before)
            {
                Assert.Equal(0, prlimit(0, NoFile, before, null));
            }
        }

        [LibraryImport("libc")]
        private static unsafe partial int prlimit(int process, int resource, ulong* limit, ulong* before);
    }
}
