using Millrace.Engine.Buffers;

namespace Millrace.Engine.Tests.Buffers;

/// <summary>Blocks of one piece of memory, and what pools do when none is left there.</summary>
public unsafe class ArenaTests
{
    private const int Response = BlockPools.ResponseBytes;
    private const int Chunk = BlockPools.ChunkBytes;

    [Fact]
    public void Blocks_of_two_sizes_do_not_overlap_until_none_is_left()
    {
        using var arena = new Arena(2 * Chunk);
        byte* chunk = arena.TryTake(Chunk);
        var responses = new HashSet<nint>();
        for (int i = 0; i < Chunk / Response; i++)
        {
            byte* response = arena.TryTake(Response);
            Assert.True(arena.Contains(response, Response) && responses.Add((nint)response));
            Assert.True(response + Response <= chunk || response >= chunk + Chunk);
            new Span<byte>(response, Response).Fill(1);
        }

        Assert.True(arena.TryTake(Response) is null && arena.TryTake(Chunk) is null);
        arena.Return(chunk, Chunk);
        Assert.True(arena.TryTake(Response) is null && arena.TryTake(Chunk) == chunk);
        Assert.Equal(0, new Span<byte>(chunk, Chunk).IndexOfAnyExcept((byte)0) + 1);
    }

    [Fact]
    public void Other_sizes_are_not_its_own()
    {
        using var arena = new Arena(Chunk);
        Assert.True(arena.TryTake(BlockPools.SmallBytes) is null && arena.TryTake(Chunk + 1) is null);
    }

    [Fact]
    public void It_holds_what_lies_in_it_as_a_whole()
    {
        using var arena = new Arena(Chunk);
        byte* start = arena.Address;
        Assert.True(arena.Contains(start, Chunk) && arena.Contains(start + Chunk - 1, 1));
        Assert.False(arena.Contains(start, Chunk + 1) || arena.Contains(start + 1, Chunk) || arena.Contains(start + Chunk, 1));
        Assert.False(arena.Contains(start - 1, 1) || arena.Contains(start, nuint.MaxValue));
    }

    [Fact]
    public void Pools_lend_from_it_first_and_give_back_to_it()
    {
        using var arena = new Arena(2 * Chunk);
        var pools = new BlockPools();
        pools.UseArena(arena);
        int[] sizes = [Chunk, Response, Chunk, BlockPools.SmallBytes, 3 * Chunk];
        Block[] blocks = [.. sizes.Select(bytes => pools.Rent(bytes))];
        Assert.Equal([true, true, false, false, false], blocks.Select(block => arena.Contains(block.Address, (nuint)block.Bytes)));
        foreach (Block block in blocks)
        {
            new Span<byte>(block.Address, block.Bytes).Fill(7);
            pools.Return(block);
        }

        pools.Dispose();
        Assert.Equal((0, 0L), (pools.Lent, pools.HeldBytes));
        Assert.True(arena.TryTake(Chunk) is not null && arena.TryTake(Response) is not null);
    }
}
