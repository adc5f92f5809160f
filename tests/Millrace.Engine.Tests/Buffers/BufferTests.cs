using Millrace.Engine.Buffers;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Engine.Tests.Buffers;

/// <summary>Pools and input against simple models.</summary>
public unsafe class BufferTests
{
    [Fact]
    public void Blocks_are_large_enough_never_shared_and_all_come_back()
    {
        using var pools = new BlockPools();
        var random = new Random(11);
        var lent = new List<(Block Block, byte Mark)>();
        for (int round = 0; round < 5_000; round++)
        {
            if (lent.Count == 0 || random.Next(2) == 0)
            {
                int bytes = random.Next(3) == 0 ? random.Next(1, 400_000) : random.Next(1, 5_000);
                Block block = pools.Rent(bytes);
                Assert.True(block.Bytes >= bytes);
                byte mark = (byte)random.Next(256);
                new Span<byte>(block.Address, block.Bytes).Fill(mark);
                lent.Add((block, mark));
            }
            else
            {
                int at = random.Next(lent.Count);
                (Block block, byte mark) = lent[at];
                Assert.Equal(-1, new ReadOnlySpan<byte>(block.Address, block.Bytes).IndexOfAnyExcept(mark));
                pools.Return(block);
                lent.RemoveAt(at);
            }

            Assert.Equal(lent.Count, pools.Lent);
        }

        lent.ForEach(entry => pools.Return(entry.Block));
        Assert.Equal(0, pools.Lent);
    }

    [Theory]
    [InlineData(1, 50)]
    [InlineData(2, 5_000)]
    [InlineData(3, 40_000)]
    public void Input_is_what_was_received_less_what_was_consumed(int seed, int most)
    {
        using var pools = new BlockPools();
        var random = new Random(seed);
        var input = default(InputBuffer);
        long received = 0;
        long consumed = 0;
        for (int round = 0; round < 3_000; round++)
        {
            if (random.Next(2) == 0)
            {
                byte[] bytes = Pattern.Make(seed, random.Next(1, most), received);
                received += bytes.Length;
                Receive(ref input, bytes, pools, random);
            }
            else
            {
                int count = random.Next(4) == 0 ? input.Count : random.Next(input.Count + 1);
                input.Consume(count, pools);
                consumed += count;
            }

            Assert.Equal(received - consumed, input.Count);
            if (round % 16 == 0)
            {
                Pattern.Check(seed, input.Bytes, consumed);
            }

            Assert.True(input.Count > 0 || pools.Lent == 0, "Empty input holds memory.");
        }

        input.Clear(pools);
        Assert.Equal(0, pools.Lent);
    }

    [Fact]
    public void Held_input_stays_where_it_is_until_it_is_released()
    {
        using var pools = new BlockPools();
        var random = new Random(3);
        var input = default(InputBuffer);
        for (int round = 0; round < 300; round++)
        {
            byte[] first = Pattern.Make(round, random.Next(1, 6_000));
            input.Append(first, pools);

            // Room in front, which unheld input would be moved to.
            int gone = random.Next(first.Length);
            input.Consume(gone, pools);
            byte* shown = input.Address;
            int count = input.Count;
            input.Hold();
            for (int more = random.Next(8); more > 0; more--)
            {
                input.Append(Pattern.Make(round, random.Next(1, 3_000), gone + input.Count), pools);
            }

            Pattern.Check(round, new ReadOnlySpan<byte>(shown, count), gone);
            Pattern.Check(round, input.Bytes, gone);
            input.Consume(input.Count, pools);
            Pattern.Check(round, new ReadOnlySpan<byte>(shown, count), gone);
            input.Release(pools);
            Assert.Equal((0, 0), (input.Count, pools.Lent));
        }
    }

    /// <summary>As a connection does: where nothing is kept, shown in place first.</summary>
    private static void Receive(ref InputBuffer input, byte[] bytes, BlockPools pools, Random random)
    {
        if (input.Count > 0)
        {
            input.Append(bytes, pools);
            return;
        }

        fixed (byte* pointer = bytes)
        {
            input.Borrow(pointer, bytes.Length);
            Assert.True(input.Bytes.SequenceEqual(bytes));
            if (random.Next(2) == 0)
            {
                input.Settle(pools);
                input.Settle(pools);
            }
            else
            {
                input.Settle(pools);
            }
        }

        Array.Clear(bytes);
    }
}
