namespace Millrace.Engine.Buffers;

/// <summary>A reactor's free output batches. Last returned, first lent. Reactor thread only.</summary>
/// <param name="pools">The source of their blocks.</param>
internal sealed class OutputBatchPool(BlockPools pools) : ITrimmable, IDisposable
{
    /// <summary>Further ones, left from a peak, are freed at once.</summary>
    private const int BatchesKept = 1_024;

    private readonly Stack<OutputBatch> _free = new();

    /// <summary>How many batches have been free all the time since the last <see cref="Trim"/>.</summary>
    private int _unused;

    /// <summary>Batches that connections hold.</summary>
    public int Lent { get; private set; }

    /// <summary>Free batches.</summary>
    public int Kept => _free.Count;

    /// <param name="holder">The connection that its blocks count for.</param>
    public OutputBatch Rent(Connection holder)
    {
        Lent++;
        if (_free.TryPop(out OutputBatch? batch))
        {
            _unused = Math.Min(_unused, _free.Count);
        }
        else
        {
            batch = new OutputBatch(pools);
        }

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
        for (int count = all ? _free.Count : _unused; count > 0; count--)
        {
            _free.Pop().Dispose();
        }

        _unused = _free.Count;
    }

    public void Dispose() => Trim(all: true);
}
