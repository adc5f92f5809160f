using Millrace.Engine.Backends.Epoll;
using Millrace.Engine.Backends.IoUring;

namespace Millrace.Engine.Tests.Backends;

/// <summary>What is mapped in several steps is given back where a later one fails: starts are tried again and again.</summary>
public class MappingTests
{
    /// <summary>The ring of so many buffers takes 512 KiB, and the buffers, 64 TiB, are not available.</summary>
    private const int Buffers = 32_768;
    private const int BufferBytes = int.MaxValue;

    private const int Attempts = 512;
    private const long LeftBytesMost = 64L << 20;

    /// <summary>3 KiB of events for each.</summary>
    private const int EpollAttempts = 50_000;

    [Fact]
    [Trait("Backend", "io_uring")]
    public void Receive_buffers_whose_memory_is_refused_leave_no_ring_of_buffers()
    {
        using var ring = Ring.Create(new EngineOptions());
        Fail(ring);
        long before = MappedBytes();
        for (int i = 0; i < Attempts; i++)
        {
            Fail(ring);
        }

        Assert.InRange(MappedBytes() - before, long.MinValue, LeftBytesMost);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public void An_epoll_backend_whose_buffers_are_refused_leaves_no_room_for_events()
    {
        var options = new EngineOptions { ReceiveBuffers = Buffers, ReceiveBufferBytes = BufferBytes };
        Fail(options);
        long before = MappedBytes();
        for (int i = 0; i < EpollAttempts; i++)
        {
            Fail(options);
        }

        Assert.InRange(MappedBytes() - before, long.MinValue, LeftBytesMost);
    }

    private static void Fail(EngineOptions options) => Assert.Throws<EngineException>(() => new EpollBackend(options));

    private static void Fail(Ring ring) => Assert.Throws<EngineException>(() => new ReceiveBuffers(ring, ReceiveBuffers.Group, Buffers, BufferBytes));

    private static long MappedBytes() =>
        long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[0], System.Globalization.CultureInfo.InvariantCulture)
        * Environment.SystemPageSize;
}
