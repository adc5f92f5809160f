using System.Runtime.InteropServices;
using Millrace.Engine.Buffers;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Buffers;

/// <summary>A batch against a list of bytes: copied, advanced or referred to, and taken by the kernel in pieces of any size.</summary>
public unsafe class OutputBatchTests
{
    [Theory]
    [InlineData(1, 20, 100)]
    [InlineData(2, 200, 5_000)]
    [InlineData(3, 3_000, 40)]
    [InlineData(4, 50, 100_000)]
    [Trait("Duration", "Full")]
    public void What_is_sent_is_what_was_written_in_order(int seed, int writes, int most)
    {
        using var pools = new BlockPools();
        var random = new Random(seed);
        using var batch = new OutputBatch(pools);
        for (int round = 0; round < 5; round++)
        {
            var expected = new List<byte>();
            var references = new List<nint>();
            for (int write = 0; write < writes; write++)
            {
                byte[] bytes = new byte[random.Next(most)];
                random.NextBytes(bytes);
                expected.AddRange(bytes);
                Write(batch, bytes, random, references);
            }

            Assert.Equal(expected.Count, batch.Bytes);
            Assert.Equal(expected, Take(batch, random));
            Assert.Equal(0, batch.Bytes);
            batch.Reset();
            Assert.Equal(0, pools.Lent);
            references.ForEach(static reference => NativeMemory.Free((void*)reference));
        }
    }

    [Fact]
    public void Bytes_that_follow_each_other_are_one_part()
    {
        using var pools = new BlockPools();
        using var batch = new OutputBatch(pools);
        batch.Write("head "u8);
        batch.Write("and body"u8);
        Assert.True(batch.TryGetSinglePart(out byte* data, out nuint bytes));
        Assert.Equal("head and body"u8.ToArray(), new ReadOnlySpan<byte>(data, (int)bytes).ToArray());
    }

    [Fact]
    public void A_message_has_no_more_parts_than_the_kernel_takes()
    {
        using var pools = new BlockPools();
        using var batch = new OutputBatch(pools);
        byte one = 1;
        for (int i = 0; i < 3_000; i++)
        {
            batch.WriteReference(&one, 1);
        }

        Assert.Equal(1_024u, (uint)batch.AsMessage()->VectorCount);
        batch.Consume(2_500);
        Assert.Equal(500u, (uint)batch.AsMessage()->VectorCount);
    }

    [Fact]
    public void Empty_parts_are_none()
    {
        using var pools = new BlockPools();
        using var batch = new OutputBatch(pools);
        batch.Write([]);
        batch.WriteReference(null, 0);
        batch.GetSpan(10);
        batch.Advance(0);
        Assert.Equal((0, 0L), (batch.Parts.Length, batch.Bytes));
    }

    private static void Write(OutputBatch batch, byte[] bytes, Random random, List<nint> references)
    {
        switch (random.Next(3))
        {
            case 0:
                batch.Write(bytes);
                break;
            case 1:
                bytes.CopyTo(batch.GetSpan(bytes.Length));
                batch.Advance(bytes.Length);
                break;
            default:
                byte* memory = (byte*)NativeMemory.Alloc((nuint)Math.Max(bytes.Length, 1));
                bytes.CopyTo(new Span<byte>(memory, bytes.Length));
                references.Add((nint)memory);
                batch.WriteReference(memory, bytes.Length);
                break;
        }
    }

    /// <summary>As the kernel does: some of what the next message shows, then the rest.</summary>
    private static List<byte> Take(OutputBatch batch, Random random)
    {
        var taken = new List<byte>();
        while (batch.Bytes > 0)
        {
            MessageHeader* message = batch.AsMessage();
            var shown = new List<byte>();
            for (nuint i = 0; i < message->VectorCount && shown.Count < 300_000; i++)
            {
                shown.AddRange(new ReadOnlySpan<byte>(message->Vectors[i].Address, (int)message->Vectors[i].Bytes));
            }

            int count = random.Next(3) == 0 ? shown.Count : random.Next(1, shown.Count + 1);
            taken.AddRange(shown.Take(count));
            batch.Consume(count);
        }

        return taken;
    }
}
