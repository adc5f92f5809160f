using Millrace.Engine.Buffers;
using Millrace.Engine.Datagrams;

namespace Millrace.Engine.Tests.Datagrams;

public sealed unsafe class DatagramSendMemoryTests
{
    private const int PayloadBytes = 1200;

    [Fact]
    public void When_connections_hold_all_memory_one_chunk_of_the_reserve_is_left_for_datagrams()
    {
        using var pools = new BlockPools(4 * BlockPools.ChunkBytes, reservedBytes: BlockPools.ChunkBytes);
        Block[] lent = [.. Enumerable.Range(0, 4).Select(_ => pools.Rent(BlockPools.ChunkBytes))];
        var memory = new DatagramSendMemory(pools);
        Assert.True(memory.TryReserve(PayloadBytes) != null);
        DatagramSendChunk chunk = memory.Commit(PayloadBytes);
        while (memory.TryReserve(PayloadBytes) != null)
        {
            memory.Commit(PayloadBytes);
        }

        Assert.Equal(1, memory.Chunks);
        Assert.InRange(chunk.InFlight, 100, BlockPools.ChunkBytes / PayloadBytes);
        while (memory.Chunks > 0)
        {
            memory.Return(chunk);
        }

        Array.ForEach(lent, pools.Return);
    }
}
