namespace Millrace.Engine.Buffers;

/// <summary>A reactor's free output batches. Reactor thread only.</summary>
/// <param name="pools">The source of their blocks.</param>
internal sealed class OutputBatchPool(BlockPools pools) : ITrimmable, IDisposable
{
    /// <summary>Further ones, left from a peak, are freed at once.</summary>
    private const int BatchesKept = 1_024;

    private readonly FreeStack<OutputBatch> _free = new();

    /// <summary>Batches that connections hold.</summary>
    public int Lent { get; private set; }

    /// <summary>Free batches.</summary>
    public int Kept => _free.Count;

    /// <param name="holder">The connection that its blocks count for.</param>
    public OutputBatch Rent(Connection holder)
    {
        Lent++;
        OutputBatch batch = _free.TryPop(out OutputBatch? free) ? free : new OutputBatch(pools);
        batch.Holder = holder;
        return batch;
    }

    public void Return(OutputBatch batch)
    {
        Lent--;
        batch.Reset();
        if (_free.Count < BatchesKept)
        {
            _free.Push(batch);
        }
        else
        {
            batch.Dispose();
        }
    }

    public void Trim(bool all)
    {
        foreach (OutputBatch batch in _free.Trim(all))
        {
            batch.Dispose();
        }
    }

    public void Dispose() => Trim(all: true);
}
