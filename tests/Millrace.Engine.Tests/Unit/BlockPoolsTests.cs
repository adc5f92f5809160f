using System.Runtime.CompilerServices;
using Millrace.Engine.Buffers;
using Millrace.Engine.Tests.Unit.Kit;

namespace Millrace.Engine.Tests.Unit;

public unsafe class BlockPoolsTests
{
    [Theory]
    [InlineData(1, BlockPools.SmallBytes)]
    [InlineData(4096, BlockPools.SmallBytes)]
    [InlineData(4097, BlockPools.ResponseBytes)]
    [InlineData(32_768, BlockPools.ResponseBytes)]
    [InlineData(32_769, BlockPools.ChunkBytes)]
    [InlineData(262_144, BlockPools.ChunkBytes)]
    [InlineData(262_145, 262_145)]
    [InlineData(3_000_000, 3_000_000)]
    public void A_block_is_the_smallest_that_holds_what_was_asked_for(int minBytes, int expectedBytes)
    {
        using var pools = new BlockPools();

        Block block = pools.Rent(minBytes);

        Assert.False(block.IsNone);
        Assert.Equal(expectedBytes, block.Bytes);
        Assert.Equal(0, (nint)block.Address % (expectedBytes > BlockPools.SmallBytes ? 4096 : 64));
        new Span<byte>(block.Address, block.Bytes).Fill(0xa5);
        pools.Return(block);
    }

    [Fact]
    public void Blocks_that_are_lent_do_not_overlap() => Seeds.ForEach(20, random =>
    {
        using var pools = new BlockPools();
        List<(Block Block, byte Mark)> lent = [];
        for (int step = 0; step < 300; step++)
        {
            if (random.Next(3) > 0)
            {
                Block block = pools.Rent(random.NextSize(300_000));
                byte mark = (byte)random.Next(256);
                new Span<byte>(block.Address, block.Bytes).Fill(mark);
                lent.Add((block, mark));
            }
            else if (lent.Count > 0)
            {
                GiveBack(random.Next(lent.Count));
            }

            Assert.Equal(lent.Count, pools.Lent);
        }

        while (lent.Count > 0)
        {
            GiveBack(lent.Count - 1);
        }

        Assert.Equal(0, pools.Lent);

        void GiveBack(int index)
        {
            (Block block, byte mark) = lent[index];
            Assert.False(new ReadOnlySpan<byte>(block.Address, block.Bytes).ContainsAnyExcept(mark));
            pools.Return(block);
            lent.RemoveAt(index);
        }
    });

    [Theory]
    [InlineData(BlockPools.SmallBytes)]
    [InlineData(BlockPools.ResponseBytes)]
    [InlineData(BlockPools.ChunkBytes)]
    public void The_block_last_returned_is_the_first_lent(int bytes)
    {
        using var pools = new BlockPools();
        Block first = pools.Rent(bytes);
        Block second = pools.Rent(bytes);
        pools.Return(first);
        pools.Return(second);

        Block again = pools.Rent(bytes);
        Block andAgain = pools.Rent(bytes);

        Assert.True(second.Address == again.Address && first.Address == andAgain.Address);
        pools.Return(again);
        pools.Return(andAgain);
    }

    [Theory]
    [InlineData(BlockPools.SmallBytes, 0, 1024)]
    [InlineData(BlockPools.ResponseBytes, 1, 512)]
    [InlineData(BlockPools.ChunkBytes, 2, 64)]
    public void A_peak_is_given_back_to_the_system(int bytes, int size, int kept)
    {
        using var pools = new BlockPools();
        Block[] blocks = [.. Enumerable.Range(0, kept + 5).Select(_ => pools.Rent(bytes))];

        Array.ForEach(blocks, pools.Return);

        Assert.Equal(kept, FreeOf(pools)[size].Count);
        Assert.Equal(0, pools.Lent);
    }

    [Fact]
    public void A_large_block_is_not_kept()
    {
        using var pools = new BlockPools();

        pools.Return(pools.Rent(BlockPools.ChunkBytes + 1));

        Assert.All(FreeOf(pools), free => Assert.Equal(0, free.Count));
    }

    [Fact]
    public void Disposing_frees_what_was_kept()
    {
        var pools = new BlockPools();
        pools.Return(pools.Rent(1));

        pools.Dispose();

        Assert.All(FreeOf(pools), free => Assert.Equal(0, free.Count));
    }

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_free")]
    private static extern ref FreeStack<nint>[] FreeOf(BlockPools pools);

    [Fact]
    public void No_more_is_lent_than_may_be()
    {
        using var pools = new BlockPools(bytesMax: 4 * BlockPools.ResponseBytes);
        Block[] blocks = [pools.Rent(BlockPools.ResponseBytes), pools.Rent(BlockPools.ResponseBytes), pools.Rent(BlockPools.ResponseBytes)];
        Block small = pools.Rent(1);

        Assert.Throws<InsufficientMemoryException>(() => pools.Rent(BlockPools.ResponseBytes));
        Assert.Throws<InsufficientMemoryException>(() => pools.Rent(int.MaxValue));
        Assert.Equal(4, pools.Lent);

        pools.Return(small);
        Array.ForEach(blocks, pools.Return);
        Assert.Equal((0, 0L), (pools.Lent, pools.LentBytes));
    }

    [Fact]
    public void Nothing_is_held_once_all_is_disposed()
    {
        var pools = new BlockPools();
        var batch = new OutputBatch(pools);
        batch.Write(new byte[3 * BlockPools.ResponseBytes]);
        for (int i = 0; i < 100; i++)
        {
            Block own = pools.Rent(100);
            pools.Return(own);
        }

        Assert.InRange(pools.HeldBytes, 3 * BlockPools.ResponseBytes, 4 * BlockPools.ResponseBytes);
        batch.Dispose();
        pools.Return(pools.Rent(BlockPools.ChunkBytes * 3));
        pools.Dispose();
        Assert.Equal(0, pools.HeldBytes);
    }
}
