using Millrace.Quic.Streams;

namespace Millrace.Quic.Tests.Streams;

public sealed class ReassemblyBufferTests : IDisposable
{
    private readonly BlockPool _pool = new();

    public void Dispose()
    {
        Assert.Equal(0, _pool.LentBlocks);
        _pool.Dispose();
    }

    [Theory]
    [InlineData(1, 300)]
    [InlineData(2, 3_000)]
    [InlineData(3, 20_000)]
    [Trait("Rfc", "9000-2.2")]
    public void Parts_in_any_order_with_repetitions_are_read_once_and_in_order(int seed, int partMax)
    {
        const int Window = 60_000;
        var random = new Random(seed);
        byte[] content = new byte[500_000];
        random.NextBytes(content);
        var buffer = new ReassemblyBuffer(_pool);
        bool[] received = new bool[content.Length];
        while (buffer.Start < content.Length)
        {
            int offset = (int)Math.Clamp(buffer.Start + random.Next(-5_000, Window), 0, content.Length);
            offset = random.Next(3) == 0 ? (int)buffer.ReadableEnd : offset;
            int end = (int)Math.Min(Math.Min(content.Length, buffer.Start + Window), offset + random.Next(partMax));
            if (end < offset)
            {
                continue;
            }

            Assert.True(buffer.TryInsert(offset, content.AsSpan(offset..end)));
            received.AsSpan(offset..end).Fill(true);
            int readable = Array.IndexOf(received, false, (int)buffer.Start);
            readable = readable < 0 ? content.Length : readable;
            Assert.Equal(readable, buffer.ReadableEnd);
            Assert.Equal(received.AsSpan((int)buffer.Start).Count(true), buffer.BufferedBytes);
            Assert.True(buffer.HeldBlocks <= (Window / BlockPool.BlockBytes) + 2);
            if (random.Next(3) == 0 && buffer.TryRead(out ReadOnlySpan<byte> bytes))
            {
                bytes = bytes[..random.Next(1, bytes.Length + 1)];
                Assert.True(bytes.SequenceEqual(content.AsSpan((int)buffer.Start, bytes.Length)));
                buffer.Consume(bytes.Length);
            }
        }

        Assert.False(buffer.TryRead(out _));
    }

    [Fact]
    public void Of_bytes_that_arrive_twice_and_differ_the_first_ones_count()
    {
        var buffer = new ReassemblyBuffer(_pool);
        Assert.True(buffer.TryInsert(1, "bc"u8));
        Assert.True(buffer.TryInsert(0, "AXXd"u8));
        Assert.True(buffer.TryRead(out ReadOnlySpan<byte> bytes));
        Assert.Equal("Abcd"u8.ToArray(), bytes.ToArray());
        buffer.Consume(4);
        Assert.True(buffer.TryInsert(2, "zz"u8));
        Assert.False(buffer.TryRead(out _));
    }

    [Theory]
    [InlineData(1, ReassemblyBuffer.SmallRangesMax)]
    [InlineData(1000, ReassemblyBuffer.RangesMax)]
    public void More_gaps_than_a_buffer_may_have_for_its_bytes_are_refused(int rangeBytes, int rangesMax)
    {
        var buffer = new ReassemblyBuffer(_pool);
        byte[] bytes = new byte[rangeBytes];
        int count = 0;
        while (buffer.TryInsert(1 + (count * (rangeBytes + 1)), bytes))
        {
            count++;
        }

        Assert.InRange(count, rangesMax, rangesMax + (count * rangeBytes / 128));
        Assert.True(count <= ReassemblyBuffer.RangesMax);
        Assert.Equal((count + 1) * rangeBytes, buffer.BufferedBytes);
        buffer.Clear();
    }

    [Fact]
    public void A_buffer_that_was_read_to_the_end_holds_no_block()
    {
        var buffer = new ReassemblyBuffer(_pool);
        Assert.True(buffer.TryInsert(0, "abc"u8));
        Assert.Equal(1, _pool.LentBlocks);
        buffer.Consume(3);
        Assert.Equal(0, _pool.LentBlocks);
    }

    [Fact]
    public void A_byte_far_ahead_costs_one_block()
    {
        var buffer = new ReassemblyBuffer(_pool);
        Assert.True(buffer.TryInsert(16 << 20, "x"u8));
        Assert.Equal(1, _pool.LentBlocks);
        Assert.False(buffer.TryRead(out _));
        buffer.Clear();
    }
}
