using Millrace.Engine.Buffers;

namespace Millrace.Engine.Tests.Buffers;

/// <summary>Blocks of one piece of memory, and what pools do when none is left there.</summary>
public unsafe class ArenaTests
{
    private const int Answer = BlockPools.AnswerBytes;
    private const int Chunk = BlockPools.ChunkBytes;

    [Fact]
    public void Blocks_of_two_sizes_do_not_overlap_until_none_is_left()
    {
        using var arena = new Arena(2 * Chunk);
        byte* chunk = arena.TryTake(Chunk);
        var answers = new HashSet<nint>();
        for (int i = 0; i < Chunk / Answer; i++)
        {
            byte* answer = arena.TryTake(Answer);
            Assert.True(arena.Holds(answer, Answer) && answers.Add((nint)answer));
            Assert.True(answer + Answer <= chunk || answer >= chunk + Chunk);
            new Span<byte>(answer, Answer).Fill(1);
        }

        Assert.True(arena.TryTake(Answer) is null && arena.TryTake(Chunk) is null);
        arena.GiveBack(chunk, Chunk);
        Assert.True(arena.TryTake(Answer) is null && arena.TryTake(Chunk) == chunk);
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
        Assert.True(arena.Holds(start, Chunk) && arena.Holds(start + Chunk - 1, 1));
        Assert.False(arena.Holds(start, Chunk + 1) || arena.Holds(start + 1, Chunk) || arena.Holds(start + Chunk, 1));
        Assert.False(arena.Holds(start - 1, 1) || arena.Holds(start, nuint.MaxValue));
    }

    [Fact]
    public void Pools_lend_from_it_first_and_give_back_to_it()
    {
        using var arena = new Arena(2 * Chunk);
        var pools = new BlockPools();
        pools.LendFrom(arena);
        int[] sizes = [Chunk, Answer, Chunk, BlockPools.SmallBytes, 3 * Chunk];
        Block[] blocks = [.. sizes.Select(pools.Rent)];
        Assert.Equal([true, true, false, false, false], blocks.Select(block => arena.Holds(block.Address, (nuint)block.Bytes)));
        foreach (Block block in blocks)
        {
            new Span<byte>(block.Address, block.Bytes).Fill(7);
            pools.Return(block);
        }

        pools.Dispose();
        Assert.Equal((0, 0L), (pools.Lent, pools.HeldBytes));
        Assert.True(arena.TryTake(Chunk) is not null && arena.TryTake(Answer) is not null);
    }
}
