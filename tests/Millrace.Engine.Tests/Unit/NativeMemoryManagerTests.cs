using System.Buffers;
using System.Runtime.InteropServices;
using Millrace.Engine.Pipes;

namespace Millrace.Engine.Tests.Unit;

public sealed unsafe class NativeMemoryManagerTests : IDisposable
{
    private const int Bytes = 64;

    private readonly byte* _memory = (byte*)NativeMemory.AllocZeroed(Bytes);
    private readonly NativeMemoryManager _manager = new();

    public void Dispose() => NativeMemory.Free(_memory);

    [Fact]
    public void It_shows_the_memory_itself()
    {
        Memory<byte> memory = _manager.PointAt(_memory + 8, 16);

        memory.Span[0] = 1;
        memory.Span[15] = 2;

        Assert.Equal(16, memory.Length);
        Assert.Equal((1, 2), (_memory[8], _memory[23]));
        Assert.Throws<ArgumentOutOfRangeException>(() => memory.Slice(17));
        Assert.Throws<IndexOutOfRangeException>(() => memory.Span[16]);
    }

    [Fact]
    public void Pointed_again_it_shows_the_new_piece()
    {
        _ = _manager.PointAt(_memory, 4);

        Memory<byte> memory = _manager.PointAt(_memory + 32, 32);

        Assert.Equal(32, memory.Length);
        Assert.True(_memory + 32 == (byte*)memory.Pin().Pointer);
    }

    [Fact]
    public void A_piece_shown_earlier_cannot_reach_past_a_shorter_one()
    {
        Memory<byte> longer = _manager.PointAt(_memory, 32);
        _ = _manager.PointAt(_memory, 8);

        Assert.Throws<ArgumentOutOfRangeException>(() => longer.Span.Length);
    }

    [Fact]
    public void Nothing_can_be_shown_too()
    {
        Memory<byte> memory = _manager.PointAt(null, 0);

        Assert.True(memory.IsEmpty);
        Assert.True(memory.Span.IsEmpty);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(7)]
    [InlineData(16)]
    public void It_is_pinned_where_it_is(int index)
    {
        _ = _manager.PointAt(_memory, 16);

        using MemoryHandle pinned = _manager.Pin(index);

        Assert.True(_memory + index == pinned.Pointer);
    }

    [Theory]
    [InlineData(-1)]
    [InlineData(17)]
    public void It_is_not_pinned_outside_of_its_bounds(int index)
    {
        _ = _manager.PointAt(_memory, 16);

        Assert.Throws<ArgumentOutOfRangeException>(() => _manager.Pin(index));
    }
}
