using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Buffers;

/// <summary>
/// The output of one send: bytes in blocks of its own, and memory by reference that the caller owns, in order. A handler fills it; from
/// submission to completion the kernel owns every byte of it (and the vectors); the reactor reuses it. Reactor thread only.
/// </summary>
internal sealed unsafe class OutputBatch : IDisposable
{
    /// <summary>Parts that one sendmsg takes (IOV_MAX).</summary>
    private const int VectorsMax = 1024;

    private const int VectorsAtStart = 8;

    /// <summary>Larger arrays, needed for a peak, are shrunk.</summary>
    private const int VectorsKept = 256;

    private readonly BlockPools _pools;
    private readonly List<Block> _blocks = [];
    private readonly MessageHeader* _message;
    private IoVector* _vectors;
    private int _vectorCapacity = VectorsAtStart;
    private int _vectorCount;
    private int _firstVector;

    private byte* _next;
    private byte* _limit;
    private bool _lastVectorIsOpen;

    /// <summary>The parts that are file pages, in order; most batches have none.</summary>
    private readonly List<PagePart> _pages = [];
    private int _firstPages;

    public OutputBatch(BlockPools pools)
    {
        _pools = pools;
        _message = (MessageHeader*)NativeMemory.AllocZeroed((nuint)sizeof(MessageHeader));
        _vectors = (IoVector*)NativeMemory.Alloc(VectorsAtStart, (nuint)sizeof(IoVector));
        _pools.NoteHeld(sizeof(MessageHeader) + VectorBytes);
    }

    private long VectorBytes => (long)_vectorCapacity * sizeof(IoVector);

    public Connection? Holder { get; set; }

    public long Bytes { get; private set; }

    /// <summary>Free space of at least <paramref name="sizeHint"/> bytes, which count after <see cref="Advance"/>.</summary>
    public Span<byte> GetSpan(int sizeHint)
    {
        if (_limit - _next < Math.Max(sizeHint, 1))
        {
            AddBlock(sizeHint);
        }

        return new Span<byte>(_next, (int)(_limit - _next));
    }

    /// <summary>Free space that <see cref="GetSpan"/> last returned and <see cref="Advance"/> has not taken.</summary>
    public int Room => (int)(_limit - _next);

    public byte* Position => _next;

    public void Advance(int count)
    {
        Debug.Assert(count >= 0 && count <= _limit - _next, "More was written than there was space for.");
        if (count == 0)
        {
            return;
        }

        if (_lastVectorIsOpen)
        {
            _vectors[_vectorCount - 1].Bytes += (nuint)count;
        }
        else
        {
            AddVector(_next, count);
            _lastVectorIsOpen = true;
        }

        _next += count;
        Bytes += count;
    }

    public void Write(ReadOnlySpan<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            // A long write fills the block before it begins another: blocks stay few, and whole TLS records lie in one.
            Span<byte> room = GetSpan(bytes.Length >= BlockPools.SmallBytes ? 1 : bytes.Length);
            int count = Math.Min(room.Length, bytes.Length);
            bytes[..count].CopyTo(room);
            Advance(count);
            bytes = bytes[count..];
        }
    }

    /// <summary>Appends memory that the caller owns, which must not change until this batch is sent or dropped.</summary>
    public void WriteReference(byte* memory, int count)
    {
        Debug.Assert(count >= 0);
        if (count == 0)
        {
            return;
        }

        AddVector(memory, count);
        _lastVectorIsOpen = false;
        Bytes += count;
    }

    /// <summary>
    /// As <see cref="WriteReference"/>, for memory that maps a file: a socket can take the pages themselves. They must not change until the
    /// peer has acknowledged them, which is later than the end of this batch.
    /// </summary>
    public void WritePages(byte* memory, int count, int file, long offset)
    {
        WriteReference(memory, count);
        if (count > 0)
        {
            _pages.Add(new PagePart(_vectorCount - 1, file, memory - offset));
        }
    }

    /// <summary>
    /// Appends pages of a file that is not mapped, as the last part of this batch: they are sent by reference (see
    /// <see cref="WritePages"/>) or dropped, and no filter sees them.
    /// </summary>
    public void WriteFile(int file, long offset, long count)
    {
        Debug.Assert(offset >= 0 && count > 0);

        // Address holds a file offset here, not a pointer.
        AddVector((byte*)offset, count);
        _pages.Add(new PagePart(_vectorCount - 1, file, null) { IsMapped = false });
        _next = _limit = null;
        _lastVectorIsOpen = false;
        Bytes += count;
    }

    /// <summary>Removes the unsent bytes of the last part, an unmapped file, and returns their number.</summary>
    public long DropFile()
    {
        Debug.Assert(HasPages && !FirstPagesAreMapped && _pages[^1].Vector == _vectorCount - 1);
        long dropped = (long)_vectors[--_vectorCount].Bytes;
        _pages.RemoveAt(_pages.Count - 1);
        Bytes -= dropped;
        return dropped;
    }

    /// <summary>Removes the last bytes. Their memory is neither reused nor returned before <see cref="Reset"/>.</summary>
    public void Retract(long count)
    {
        Debug.Assert(count >= 0 && count <= Bytes && _firstVector == 0, "Sent bytes cannot be retracted.");
        Bytes -= count;
        while (count > 0)
        {
            IoVector* last = _vectors + _vectorCount - 1;
            nuint taken = Math.Min((nuint)count, last->Bytes);
            last->Bytes -= taken;
            count -= (long)taken;
            if (last->Bytes == 0)
            {
                _vectorCount--;
                if (_pages.Count > 0 && _pages[^1].Vector == _vectorCount)
                {
                    _pages.RemoveAt(_pages.Count - 1);
                }
            }
        }

        _lastVectorIsOpen = false;
    }

    /// <summary>The first unsent part, and whether it is the only one; otherwise use <see cref="AsMessage()"/>.</summary>
    public bool TryGetSinglePart(out byte* data, out nuint bytes)
    {
        IoVector* first = _vectors + _firstVector;
        data = first->Address;
        bytes = first->Bytes;
        return _vectorCount - _firstVector == 1;
    }

    public MessageHeader* AsMessage() => AsMessage(_vectorCount - _firstVector);

    public bool HasPages => _firstPages < _pages.Count;

    /// <summary>The unsent parts before the first file pages, as a message; null if the pages come first.</summary>
    public MessageHeader* AsMessageBeforePages(out long bytes, out bool isAll)
    {
        Debug.Assert(HasPages);
        bytes = 0;
        int count = _pages[_firstPages].Vector - _firstVector;
        isAll = count <= VectorsMax;
        foreach (IoVector part in Parts[..Math.Min(count, VectorsMax)])
        {
            bytes += (long)part.Bytes;
        }

        return count == 0 ? null : AsMessage(count);
    }

    public (int File, long Offset, nuint Bytes) FirstPages()
    {
        PagePart pages = _pages[_firstPages];
        IoVector part = _vectors[pages.Vector];
        return (pages.File, part.Address - pages.FileStart, part.Bytes);
    }

    /// <summary>Whether the first unsent file pages are mapped too, and could be copied.</summary>
    public bool FirstPagesAreMapped => _pages[_firstPages].IsMapped;

    public void Consume(long count)
    {
        Debug.Assert(count >= 0 && count <= Bytes);
        Bytes -= count;
        while (count > 0)
        {
            IoVector* first = _vectors + _firstVector;
            nuint taken = Math.Min((nuint)count, first->Bytes);
            first->Address += taken;
            first->Bytes -= taken;
            count -= (long)taken;
            if (first->Bytes == 0)
            {
                _firstVector++;
            }
        }

        while (HasPages && _pages[_firstPages].Vector < _firstVector)
        {
            _firstPages++;
        }
    }

    /// <summary>The unsent parts in order, for a filter that rewrites them.</summary>
    public ReadOnlySpan<IoVector> Parts => new(_vectors + _firstVector, _vectorCount - _firstVector);

    public void Reset()
    {
        foreach (Block block in _blocks)
        {
            _pools.Return(block);
            Holder?.Holdings.ChargeBlocks(-block.Bytes);
        }

        Holder = null;
        _blocks.Clear();
        if (_vectorCapacity > VectorsKept)
        {
            ResizeVectors(VectorsAtStart);
        }

        _pages.Clear();
        _vectorCount = _firstVector = _firstPages = 0;
        _next = _limit = null;
        _lastVectorIsOpen = false;
        Bytes = 0;
    }

    public void Dispose()
    {
        Reset();
        _pools.NoteHeld(-(sizeof(MessageHeader) + VectorBytes));
        NativeMemory.Free(_message);
        NativeMemory.Free(_vectors);
        _vectors = null;
    }

    private MessageHeader* AsMessage(int count)
    {
        _message->Vectors = _vectors + _firstVector;
        _message->VectorCount = (nuint)Math.Min(count, VectorsMax);
        return _message;
    }

    private void AddBlock(int sizeHint)
    {
        Block block = _pools.Rent(Math.Max(sizeHint, BlockPools.ResponseBytes), Holder);
        _blocks.Add(block);
        Holder?.Holdings.ChargeBlocks(block.Bytes);
        _next = block.Address;
        _limit = block.Address + block.Bytes;
        _lastVectorIsOpen = false;
    }

    private void AddVector(byte* address, long count)
    {
        if (_vectorCount == _vectorCapacity)
        {
            ResizeVectors(_vectorCapacity * 2);
        }

        _vectors[_vectorCount++] = new IoVector { Address = address, Bytes = (nuint)count };
    }

    private void ResizeVectors(int count)
    {
        _vectors = (IoVector*)NativeMemory.Realloc(_vectors, (nuint)count * (nuint)sizeof(IoVector));
        _pools.NoteHeld((long)(count - _vectorCapacity) * sizeof(IoVector));
        _vectorCapacity = count;
    }

    /// <summary>
    /// A part that is file pages, and the address at which the file would begin in memory. Not a record: a record would print its pointers.
    /// </summary>
    private readonly struct PagePart(int vector, int file, byte* fileStart)
    {
        public int Vector { get; } = vector;

        public int File { get; } = file;

        public byte* FileStart { get; } = fileStart;

        public bool IsMapped { get; init; } = true;
    }
}

/// <summary>A reactor's free output batches. Reactor thread only.</summary>
internal sealed class OutputBatchPool(BlockPools pools) : ITrimmable, IDisposable
{
    /// <summary>Further ones, left from a peak, are freed at once.</summary>
    private const int BatchesKept = 1_024;

    private readonly FreeStack<OutputBatch> _free = new();

    public int Lent { get; private set; }

    public int Kept => _free.Count;

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
