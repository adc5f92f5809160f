using Millrace.Engine.Buffers;

namespace Millrace.Engine.Tests.Unit;

public sealed unsafe class SharedBlockTests : IDisposable
{
    private readonly BlockPools _pools = new();

    public void Dispose()
    {
        Assert.Equal(0, _pools.Lent);
        _pools.Dispose();
    }

    [Fact]
    public void It_is_held_by_each_batch_until_that_is_empty_and_freed_by_the_last()
    {
        var block = new SharedBlock(100);
        block.Span.Fill(7);
        Assert.True(block.IsOwn);
        using var first = new OutputBatch(_pools);
        using var second = new OutputBatch(_pools);
        first.Write("head"u8);
        first.WriteShared(block, 100);
        second.WriteShared(block, 50);
        Assert.Equal((104, 50), (first.Bytes, second.Bytes));
        Assert.True((nint)second.Parts[0].Address == (nint)block.Address);

        first.Reset();
        Assert.False(block.IsOwn);
        second.Reset();
        Assert.True(block.IsOwn);
        first.WriteShared(block, 1);
        block.Release();
        Assert.False(block.Address == null);
        first.Reset();
        Assert.True(block.Address == null);
    }

    [Fact]
    public void What_is_taken_back_is_held_until_the_batch_is_empty()
    {
        var block = new SharedBlock(100);
        using var batch = new OutputBatch(_pools);
        batch.WriteShared(block, 100);
        batch.Retract(100);
        Assert.Equal((0, false), (batch.Bytes, block.IsOwn));
        batch.Reset();
        Assert.True(block.IsOwn);
        block.Release();
    }
}
