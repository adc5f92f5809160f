using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Engine.Buffers;
using Millrace.Engine.Tests.Unit.Kit;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Tests.Unit;

public sealed unsafe class OutputBatchTests : IDisposable
{
    private const int VectorsMax = 1024;
    private const int ReferencedBytes = 1 << 20;

    private readonly BlockPools _pools = new();
    private readonly byte* _referenced = (byte*)NativeMemory.Alloc(ReferencedBytes);
    private readonly OutputBatch _batch;

    public OutputBatchTests()
    {
        _batch = new OutputBatch(_pools);
        new Random(1).NextBytes(new Span<byte>(_referenced, ReferencedBytes));
    }

    public void Dispose()
    {
        _batch.Dispose();
        Assert.Equal(0, _pools.Lent);
        _pools.Dispose();
        NativeMemory.Free(_referenced);
    }

    [Fact]
    public void Long_writes_fill_a_block_before_the_next_one_begins()
    {
        byte[] frame = new byte[16 * 1024];
        for (int i = 0; i < 8; i++)
        {
            _batch.Write(frame.AsSpan(0, 9));
            _batch.Write(frame);
        }

        int[] parts = [.. _batch.Parts.ToArray().Select(static part => (int)part.Bytes)];
        Assert.All(parts[..^1], static bytes => Assert.Equal(BlockPools.ResponseBytes, bytes));
        Assert.Equal(8 * (9 + frame.Length), parts.Sum());
    }

    [Fact]
    public void What_was_written_is_what_is_sent_however_it_is_cut() => Seeds.ForEach(60, random =>
    {
        List<byte> model = [];
        for (int step = random.NextSize(3_000); step > 0; step--)
        {
            WriteSomething(random, model, step > 100 ? 300 : 100_000);
            Assert.Equal(model.Count, _batch.Bytes);
        }

        AssertUnsent(CollectionsMarshal.AsSpan(model));
        long sent = 0;
        while (_batch.Bytes > 0)
        {
            long count = Math.Min(random.NextSize(500_000), Math.Min(_batch.Bytes, BytesOfMessage()));
            _batch.Consume(count);
            sent += count;
            AssertUnsent(CollectionsMarshal.AsSpan(model)[(int)sent..]);
        }

        Assert.Equal(model.Count, sent);
        _batch.Reset();
        Assert.Equal((0L, 0, 0), (_batch.Bytes, _batch.Room, _pools.Lent));
    });

    [Fact]
    public void Copies_in_a_row_are_one_part()
    {
        _batch.Write("ab"u8);
        _batch.Write("cd"u8);
        "ef"u8.CopyTo(_batch.GetSpan(2));
        _batch.Advance(2);

        Assert.True(_batch.TryGetSinglePart(out byte* data, out nuint bytes));
        Assert.Equal("abcdef"u8.ToArray(), new ReadOnlySpan<byte>(data, (int)bytes).ToArray());
    }

    [Fact]
    public void A_reference_is_sent_from_where_it_lies_between_the_copies_around_it()
    {
        _batch.Write("head"u8);
        _batch.WriteReference(_referenced, 1_000);
        _batch.Write("tail"u8);

        Assert.False(_batch.TryGetSinglePart(out _, out _));
        Assert.Equal(3, _batch.Parts.Length);
        Assert.True(_batch.Parts[1].Address == _referenced);
        AssertUnsent([.. "head"u8, .. new ReadOnlySpan<byte>(_referenced, 1_000), .. "tail"u8]);
        Assert.Equal(1, _pools.Lent);
    }

    [Fact]
    public void A_reference_written_while_a_span_is_open_goes_before_what_is_put_there()
    {
        Span<byte> span = _batch.GetSpan(4);
        _batch.WriteReference(_referenced, 2);
        "late"u8.CopyTo(span);
        _batch.Advance(4);

        AssertUnsent([_referenced[0], _referenced[1], .. "late"u8]);
    }

    [Fact]
    public void Nothing_written_is_no_part()
    {
        _batch.Write([]);
        _batch.WriteReference(_referenced, 0);
        _ = _batch.GetSpan(100);
        _batch.Advance(0);

        Assert.Equal((0L, 0), (_batch.Bytes, _batch.Parts.Length));
        Assert.False(_batch.TryGetSinglePart(out _, out _));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(BlockPools.ResponseBytes)]
    [InlineData(BlockPools.ResponseBytes + 1)]
    [InlineData(BlockPools.ChunkBytes + 1)]
    [InlineData(3_000_000)]
    public void A_span_is_as_large_as_asked_for_and_never_empty(int sizeHint)
    {
        _batch.Write("before"u8);

        Span<byte> span = _batch.GetSpan(sizeHint);

        Assert.True(span.Length >= Math.Max(1, sizeHint));
        Assert.Equal(span.Length, _batch.Room);
        Assert.True(_batch.Position == (byte*)Unsafe.AsPointer(ref span[0]));
        span.Fill((byte)'x');
        _batch.Advance(span.Length);
        Assert.Equal(0, _batch.Room);
        Assert.Equal(6 + span.Length, _batch.Bytes);
        AssertUnsent([.. "before"u8, .. span]);
        Assert.False(_batch.GetSpan(0).IsEmpty);
    }

    [Fact]
    public void A_message_carries_no_more_parts_than_the_kernel_takes()
    {
        const int Parts = (2 * VectorsMax) + 10;
        for (int i = 0; i < Parts; i++)
        {
            _batch.WriteReference(_referenced + (i * 10), 3);
        }

        Assert.Equal(Parts, _batch.Parts.Length);
        Assert.Equal((nuint)VectorsMax, _batch.AsMessage()->VectorCount);

        // Half of the first part goes, then all of the first message, and so on: always the first 1,024 of what is left.
        _batch.Consume(2);
        Assert.Equal((nuint)VectorsMax, _batch.AsMessage()->VectorCount);
        Assert.True(_referenced + 2 == _batch.AsMessage()->Vectors[0].Address);
        Assert.Equal((nuint)1, _batch.AsMessage()->Vectors[0].Bytes);
        _batch.Consume((3 * VectorsMax) - 2);
        Assert.True(_referenced + (VectorsMax * 10) == _batch.AsMessage()->Vectors[0].Address);
        _batch.Consume(3 * VectorsMax);
        Assert.Equal((nuint)10, _batch.AsMessage()->VectorCount);
        _batch.Consume(27);
        Assert.True(_batch.TryGetSinglePart(out byte* last, out nuint bytes));
        Assert.True(_referenced + ((Parts - 1) * 10) == last);
        Assert.Equal((nuint)3, bytes);
    }

    [Fact]
    public void A_message_names_nobody_and_carries_no_control_data()
    {
        _batch.Write("a"u8);

        MessageHeader* message = _batch.AsMessage();

        Assert.True(message->Name is null && message->Control is null);
        Assert.Equal((0u, (nuint)0, 0), (message->NameBytes, message->ControlBytes, message->Flags));
    }

    [Fact]
    public void A_batch_that_was_reset_starts_again()
    {
        _batch.Write("old"u8);
        _batch.WriteReference(_referenced, 10);
        _batch.Consume(1);

        _batch.Reset();
        Assert.Equal((0L, 0, 0), (_batch.Bytes, _batch.Parts.Length, _pools.Lent));
        _batch.Write("new"u8);

        AssertUnsent("new"u8);
    }

    private void WriteSomething(Random random, List<byte> model, int bytesMax)
    {
        int count = random.NextSize(bytesMax);
        switch (random.Next(4))
        {
            case 0:
                byte[] bytes = new byte[count];
                random.NextBytes(bytes);
                _batch.Write(bytes);
                model.AddRange(bytes);
                break;
            case 1:
                Span<byte> span = _batch.GetSpan(count);
                int written = random.Next(Math.Min(span.Length, bytesMax) + 1);
                random.NextBytes(span[..written]);
                _batch.Advance(written);
                model.AddRange(span[..written]);
                break;
            case 2:
                // Asked for and left alone.
                _ = _batch.GetSpan(count);
                break;
            default:
                byte* memory = _referenced + random.Next(ReferencedBytes - count);
                _batch.WriteReference(memory, count);
                model.AddRange(new ReadOnlySpan<byte>(memory, count));
                break;
        }
    }

    private long BytesOfMessage()
    {
        MessageHeader* message = _batch.AsMessage();
        long bytes = 0;
        foreach (ref readonly IoVector part in new ReadOnlySpan<IoVector>(message->Vectors, (int)message->VectorCount))
        {
            bytes += (long)part.Bytes;
        }

        return bytes;
    }

    private void AssertUnsent(ReadOnlySpan<byte> expected)
    {
        Assert.Equal(expected.Length, _batch.Bytes);
        ReadOnlySpan<byte> rest = expected;
        foreach (ref readonly IoVector part in _batch.Parts)
        {
            int bytes = (int)part.Bytes;
            Assert.InRange(bytes, 1, rest.Length);
            Assert.True(rest[..bytes].SequenceEqual(new ReadOnlySpan<byte>(part.Address, bytes)));
            rest = rest[bytes..];
        }

        Assert.True(rest.IsEmpty);
        Assert.Equal((nuint)Math.Min(_batch.Parts.Length, VectorsMax), _batch.AsMessage()->VectorCount);
        Assert.Equal(_batch.Parts.Length == 1, _batch.TryGetSinglePart(out _, out _));
    }
}
