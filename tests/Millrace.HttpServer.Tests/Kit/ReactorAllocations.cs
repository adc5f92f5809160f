using Millrace.Engine;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>What a reactor's thread allocates while it serves.</summary>
internal static class ReactorAllocations
{
    /// <summary>
    /// What allocates for a request allocates in every round of thousands; what the runtime does once, as it compiles a method again,
    /// does not.
    /// </summary>
    public static async Task AssertNoneAsync(Reactor reactor, int rounds, Func<Task> serve)
    {
        _ = AllocatedBytes(reactor);
        var allocated = new List<long>();
        for (int i = 0; i < rounds && !allocated.Contains(0); i++)
        {
            long before = AllocatedBytes(reactor);
            await serve();
            allocated.Add(AllocatedBytes(reactor) - before);
        }

        Assert.Contains(0, allocated);
    }

    /// <summary>Bytes ever allocated by the reactor's thread. Waits without a signal, which could itself allocate over there.</summary>
    private static long AllocatedBytes(Reactor reactor)
    {
        var reading = new Reading();
        reactor.Post(static state => Volatile.Write(ref ((Reading)state!).Bytes, GC.GetAllocatedBytesForCurrentThread()), reading);
        Assert.True(SpinWait.SpinUntil(() => Volatile.Read(ref reading.Bytes) >= 0, TimeSpan.FromSeconds(60)));
        return reading.Bytes;
    }

    private sealed class Reading
    {
        public long Bytes = -1;
    }
}
