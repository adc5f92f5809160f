using System.Collections.Concurrent;
using Millrace.Quic.Connections;
using Millrace.Quic.Recovery;

namespace Millrace.QuicTransport;

/// <summary>
/// Hands datagrams of other reactors' connections over to these, copied, those of an iteration together: where the kernel does not
/// distribute them by connection ids. A reactor's; its thread only.
/// </summary>
internal sealed class ForeignDatagrams(QuicReactor[] reactors)
{
    private readonly ForeignBatch?[] _batches = new ForeignBatch?[reactors.Length];

    /// <summary>False: dropped, as a network would.</summary>
    public bool TryAdd(int index, ReadOnlySpan<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn)
    {
        ForeignBatch? batch = _batches[index];
        if (batch is not null && !batch.HasRoom(datagram.Length))
        {
            Post(index);
            batch = null;
        }

        batch ??= _batches[index] = reactors[index].ForeignBatches.TryRent();
        batch?.Add(datagram, from, to, ecn);
        return batch is not null;
    }

    /// <summary>Posts what was added in this iteration.</summary>
    public void PostAll()
    {
        for (int i = 0; i < _batches.Length; i++)
        {
            if (_batches[i] is not null)
            {
                Post(i);
            }
        }
    }

    private void Post(int index)
    {
        ForeignBatch batch = _batches[index]!;
        _batches[index] = null;
        batch.Target = reactors[index];
        batch.Target.Reactor.Post(
            static state =>
            {
                var batch = (ForeignBatch)state!;
                batch.Target!.Receive(batch);
                batch.Return();
            },
            batch);
    }
}

/// <summary>Copies of datagrams for one reactor. Belongs to one thread at a time.</summary>
internal sealed class ForeignBatch(ForeignBatchPool pool)
{
    private const int DatagramsMax = 32;

    /// <summary>Of the largest datagram that QUIC's receivers accept here, twice: mostly room for all <see cref="DatagramsMax"/>.</summary>
    private const int BytesMax = 64 * 1024;

    private readonly byte[] _bytes = GC.AllocateUninitializedArray<byte>(BytesMax);
    private readonly Entry[] _entries = new Entry[DatagramsMax];
    private int _used;

    public int Count { get; private set; }

    public QuicReactor? Target { get; set; }

    public bool HasRoom(int bytes) => Count < DatagramsMax && _used + bytes <= BytesMax;

    public void Add(ReadOnlySpan<byte> datagram, in PathAddress from, in PathAddress to, EcnMark ecn)
    {
        datagram.CopyTo(_bytes.AsSpan(_used));
        _entries[Count++] = new Entry(_used, datagram.Length, from, to, ecn);
        _used += datagram.Length;
    }

    public Span<byte> Get(int index, out PathAddress from, out PathAddress to, out EcnMark ecn)
    {
        ref readonly Entry entry = ref _entries[index];
        (from, to, ecn) = (entry.From, entry.To, entry.Ecn);
        return _bytes.AsSpan(entry.Offset, entry.Length);
    }

    public void Return()
    {
        Target = null;
        Count = _used = 0;
        pool.Return(this);
    }

    private readonly record struct Entry(int Offset, int Length, PathAddress From, PathAddress To, EcnMark Ecn);
}

/// <summary>
/// The batches on their way to one reactor: limited, so that one that is blocked does not collect datagrams for ever, nor keep them from
/// the others. Any thread.
/// </summary>
internal sealed class ForeignBatchPool
{
    /// <summary>2 MiB, as the receive buffer of a socket: some milliseconds of a full gigabit.</summary>
    private const int BatchesMax = 32;

    private readonly ConcurrentQueue<ForeignBatch> _free = new();
    private int _made;

    /// <summary>Null: all are on their way.</summary>
    public ForeignBatch? TryRent()
    {
        if (_free.TryDequeue(out ForeignBatch? batch))
        {
            return batch;
        }

        if (Interlocked.Increment(ref _made) <= BatchesMax)
        {
            return new ForeignBatch(this);
        }

        Interlocked.Decrement(ref _made);
        return null;
    }

    public void Return(ForeignBatch batch) => _free.Enqueue(batch);
}
