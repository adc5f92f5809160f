using System.Runtime.InteropServices;
using Millrace.Quic.Packets;
using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

public sealed class SendBufferTests : IDisposable
{
    private readonly BlockPool _pool = new();

    public void Dispose()
    {
        Assert.Equal(0, _pool.LentBlocks);
        _pool.Dispose();
    }

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [Trait("Rfc", "9000-13.3")]
    public void Random_losses_and_acknowledgments_give_what_a_state_for_each_byte_gives(int seed)
    {
        var random = new Random(seed);
        var buffer = new SendBuffer(_pool) { Budget = new SendBudget(64 * 1024) };
        var model = new Model();
        var inFlight = new List<(long Offset, int Length)>();
        for (int i = 0; i < 1_500; i++)
        {
            switch (random.Next(7))
            {
                case 0:
                    byte[] bytes = new byte[random.Next(12_000)];
                    random.NextBytes(bytes);
                    int written = buffer.Write(bytes);
                    model.Bytes.AddRange(bytes.AsSpan(0, written));
                    model.States.AddRange(Enumerable.Repeat(Model.Unsent, written));
                    break;
                case 1 or 2:
                    SendNext(random, buffer, model, inFlight);
                    break;
                case 3 or 4 when inFlight.Count > 0:
                    (long offset, int length) = Take(random, inFlight);
                    buffer.OnAcked(offset, length);
                    model.Set(offset, length, Model.Acked);
                    break;
                case 5 when inFlight.Count > 0:
                    // What is reported lost may be acknowledged later, or be lost again as part of a probe.
                    (offset, length) = random.Next(2) == 0 ? Take(random, inFlight) : inFlight[random.Next(inFlight.Count)];
                    buffer.OnLost(offset, length);
                    model.Set(offset, length, Model.Lost);
                    break;
                case 6:
                    Reference(random, buffer, model);
                    break;
            }

            AssertSame(model, buffer);
        }

        buffer.Reset();
    }

    [Fact]
    public void Memory_is_given_back_as_the_first_bytes_are_acknowledged()
    {
        var buffer = new SendBuffer(_pool);
        buffer.Write(new byte[3 * BlockPool.BlockBytes]);
        buffer.OnSent(0, 3 * BlockPool.BlockBytes);
        Assert.Equal(3, _pool.LentBlocks);
        buffer.OnAcked(BlockPool.BlockBytes, BlockPool.BlockBytes);
        Assert.Equal(3, _pool.LentBlocks);
        buffer.OnAcked(0, BlockPool.BlockBytes);
        Assert.Equal(1, _pool.LentBlocks);
        buffer.OnAcked(2 * BlockPool.BlockBytes, BlockPool.BlockBytes);
        Assert.Equal(0, _pool.LentBlocks);
    }

    [Fact]
    public void A_buffer_whose_bytes_are_all_acknowledged_holds_no_block_that_is_filled_in_part()
    {
        var buffer = new SendBuffer(_pool);
        buffer.Write("abc"u8);
        buffer.OnSent(0, 3);
        buffer.OnAcked(0, 3);
        Assert.Equal(0, _pool.LentBlocks);
        buffer.Write("def"u8);
        byte[] copy = new byte[3];
        buffer.CopyTo(3, copy);
        Assert.Equal("def"u8.ToArray(), copy);
        buffer.Clear();
    }

    [Fact]
    public void A_write_takes_what_the_budget_has_left_and_a_first_block_always()
    {
        var budget = new SendBudget(2 * BlockPool.BlockBytes);
        var one = new SendBuffer(_pool) { Budget = budget };
        var two = new SendBuffer(_pool) { Budget = budget };
        Assert.Equal(2 * BlockPool.BlockBytes, one.Write(new byte[100_000]));
        Assert.Equal(0, one.Room);
        Assert.Equal(BlockPool.BlockBytes, two.Room);
        Assert.Equal(BlockPool.BlockBytes, two.Write(new byte[100_000]));
        one.Clear();
        two.Clear();
        Assert.Equal(0, budget.UsedBytes);
    }

    [Fact]
    public void A_pool_at_its_limit_still_gives_each_stream_its_first_block()
    {
        using var pool = new BlockPool(bytesMax: BlockPool.BlockBytes);
        var budget = new SendBudget(1 << 20);
        var one = new SendBuffer(pool) { Budget = budget };
        var two = new SendBuffer(pool) { Budget = budget };
        Assert.Equal(BlockPool.BlockBytes, one.Write(new byte[100_000]));
        Assert.Equal(BlockPool.BlockBytes, two.Write(new byte[100_000]));
        Assert.Equal(2 * BlockPool.BlockBytes, budget.UsedBytes);
        one.Clear();
        two.Clear();
        Assert.Equal((0, 0L), (pool.LentBlocks, budget.UsedBytes));
    }

    [Fact]
    public void Bytes_that_follow_referenced_ones_in_memory_are_referenced_too_and_others_are_not_until_those_are_acknowledged()
    {
        var buffer = new SendBuffer(_pool);
        byte[] memory = Pinned(3_000);
        buffer.Write("head"u8);
        Assert.True(buffer.TryReference(memory.AsSpan(0, 1_000)));
        Assert.True(buffer.TryReference(memory.AsSpan(1_000, 500)));
        Assert.False(buffer.TryReference(memory.AsSpan(2_000, 500)));
        buffer.Write("trailers"u8);
        Assert.False(buffer.TryReference(memory.AsSpan(1_500, 500)));
        Assert.Equal(1, _pool.LentBlocks);
        byte[] copy = new byte[1_512];
        buffer.CopyTo(0, copy);
        Assert.Equal([.. "head"u8, .. memory[..1_500], .. "trailers"u8], copy);
        buffer.OnSent(0, 1_512);
        buffer.OnAcked(0, 1_503);
        Assert.True(buffer.HasReferenced);
        Assert.False(buffer.TryReference(memory.AsSpan(2_000, 500)));
        buffer.OnAcked(1_503, 1);
        Assert.False(buffer.HasReferenced);
        Assert.True(buffer.TryReference(memory.AsSpan(2_000, 500)));
        Assert.True(buffer.HasReferenced);
        buffer.Clear();
        Assert.False(buffer.HasReferenced);
    }

    private static void Reference(Random random, SendBuffer buffer, Model model)
    {
        byte[] memory = Pinned(random.Next(1, 12_000));
        random.NextBytes(memory);
        int first = random.Next(memory.Length + 1);
        foreach (Range part in (Range[])[new(0, first), new(first, ^0)])
        {
            Span<byte> bytes = memory.AsSpan(part);
            if (!bytes.IsEmpty && buffer.TryReference(bytes))
            {
                model.Bytes.AddRange(bytes);
                model.States.AddRange(Enumerable.Repeat(Model.Unsent, bytes.Length));
                model.Kept.Add(memory);
            }
        }
    }

    private static byte[] Pinned(int length)
    {
        byte[] bytes = GC.AllocateArray<byte>(length, pinned: true);
        new Random(length).NextBytes(bytes);
        return bytes;
    }

    private static (long Offset, int Length) Take(Random random, List<(long Offset, int Length)> inFlight)
    {
        int index = random.Next(inFlight.Count);
        (long, int) taken = inFlight[index];
        inFlight.RemoveAt(index);
        return taken;
    }

    private static void SendNext(Random random, SendBuffer buffer, Model model, List<(long Offset, int Length)> inFlight)
    {
        long limit = buffer.SentEnd + random.Next(6_000);
        bool isThere = buffer.TryGetNext(limit, out long offset, out long length);
        int lost = model.States.IndexOf(Model.Lost);
        int unsent = model.States.IndexOf(Model.Unsent);
        Assert.Equal(lost >= 0 || (unsent >= 0 && unsent < limit), isThere);
        if (!isThere)
        {
            return;
        }

        Assert.Equal(lost >= 0 ? lost : unsent, offset);
        byte[] copy = new byte[(int)Math.Min(length, random.Next(1, 3_000))];
        buffer.CopyTo(offset, copy);
        Assert.True(copy.AsSpan().SequenceEqual(CollectionsMarshal.AsSpan(model.Bytes).Slice((int)offset, copy.Length)));
        byte[] payload = new byte[random.Next(30) + copy.Length];
        var pieces = new PayloadPieces();
        buffer.AppendTo(pieces, payload.Length - copy.Length, offset, payload.AsSpan(payload.Length - copy.Length));
        pieces.CopyTo(payload);
        Assert.True(payload.AsSpan(payload.Length - copy.Length).SequenceEqual(copy));
        buffer.OnSent(offset, copy.Length);
        model.Send(offset, copy.Length);
        inFlight.Add((offset, copy.Length));
    }

    private static void AssertSame(Model model, SendBuffer buffer)
    {
        int start = CollectionsMarshal.AsSpan(model.States).IndexOfAnyExcept(Model.Acked);
        start = start < 0 ? model.States.Count : start;
        int sent = model.States.IndexOf(Model.Unsent);
        Assert.Equal(start, buffer.Start);
        Assert.Equal(model.States.Count, buffer.End);
        Assert.Equal(sent < 0 ? model.States.Count : sent, buffer.SentEnd);
        Assert.Equal(model.States.Contains(Model.Lost), buffer.HasLost);
        Assert.True(buffer.HeldBlocks <= ((buffer.End - buffer.Start) / BlockPool.BlockBytes) + 2);
    }

    private sealed class Model
    {
        public const byte Unsent = 0;
        public const byte InFlight = 1;
        public const byte Lost = 2;
        public const byte Acked = 3;

        public List<byte> Bytes { get; } = [];

        public List<byte> States { get; } = [];

        /// <summary>What the buffer refers to.</summary>
        public List<byte[]> Kept { get; } = [];

        public void Send(long offset, int length)
        {
            for (int i = (int)offset; i < offset + length; i++)
            {
                Assert.True(States[i] != Acked, "An acknowledged byte is sent again.");
                States[i] = InFlight;
            }
        }

        public void Set(long offset, int length, byte state)
        {
            for (int i = (int)offset; i < offset + length; i++)
            {
                States[i] = States[i] == Acked ? Acked : state;
            }
        }
    }
}
