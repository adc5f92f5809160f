using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Buffers;

/// <summary>
/// What goes out in one send: bytes copied or read into blocks of its own, and caller-owned memory by reference, in order.
/// Filled by a handler, then handed to the kernel, which owns every byte of it (and the vectors) until the send's
/// completion; recycled by the reactor. Reactor thread only.
/// </summary>
internal sealed unsafe class OutputBatch : IDisposable
{
    /// <summary>Parts that one sendmsg takes (IOV_MAX).</summary>
    private const int VectorsMax = 1024;

    private const int VectorsAtStart = 8;

    /// <summary>More than this is a peak, and given back.</summary>
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

    /// <summary>What is held until all is sent.</summary>
    private readonly List<SharedBlock> _shared = [];

    /// <summary>The parts that are pages of files, in order; most batches have none.</summary>
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

    /// <summary>Bytes not yet sent.</summary>
    public long Bytes { get; private set; }

    /// <summary>Room for at least <paramref name="sizeHint"/> bytes, which count once <see cref="Advance"/> says so.</summary>
    public Span<byte> GetSpan(int sizeHint)
    {
        if (_limit - _next < Math.Max(sizeHint, 1))
        {
            AddBlock(sizeHint);
        }

        return new Span<byte>(_next, (int)(_limit - _next));
    }

    /// <summary>Bytes of room that <see cref="GetSpan"/> last showed and <see cref="Advance"/> has not taken.</summary>
    public int Room => (int)(_limit - _next);

    /// <summary>The address of what <see cref="GetSpan"/> shows.</summary>
    public byte* Position => _next;

    public void Advance(int count)
    {
        Debug.Assert(count >= 0 && count <= _limit - _next, "More was written than there was room for.");
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
            Span<byte> room = GetSpan(Math.Min(bytes.Length, BlockPools.AnswerBytes));
            int count = Math.Min(room.Length, bytes.Length);
            bytes[..count].CopyTo(room);
            Advance(count);
            bytes = bytes[count..];
        }
    }

    /// <summary>Appends memory of the caller's, which must stay as it is until this batch was sent or dropped.</summary>
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

    /// <summary>As <see cref="WriteReference"/>, of the first bytes of memory that is held until then.</summary>
    public void WriteShared(SharedBlock block, int count)
    {
        Debug.Assert(count <= block.Bytes);
        block.Hold();
        _shared.Add(block);
        WriteReference(block.Address, count);
    }

    /// <summary>
    /// As <see cref="WriteReference"/>, of memory in which a file is mapped: a socket can take the pages themselves. They must stay as they
    /// are beyond this batch, until the peer has acknowledged them.
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
    /// Appends pages of a file that is mapped nowhere, as the last of this batch: they go out by reference (see <see cref="WritePages"/>)
    /// or are dropped, and no stage ever sees them.
    /// </summary>
    public void WriteFile(int file, long offset, long count)
    {
        Debug.Assert(offset >= 0 && count > 0);

        // The offset stands where others have an address, as if the file began at the first byte of all memory.
        AddVector((byte*)offset, count);
        _pages.Add(new PagePart(_vectorCount - 1, file, null) { IsMapped = false });
        _next = _limit = null;
        _lastVectorIsOpen = false;
        Bytes += count;
    }

    /// <summary>Takes back what is unsent of the file that was written last, and says how many bytes that were.</summary>
    public long DropFile()
    {
        Debug.Assert(HasPages && !FirstPagesAreMapped && _pages[^1].Vector == _vectorCount - 1);
        long dropped = (long)_vectors[--_vectorCount].Bytes;
        _pages.RemoveAt(_pages.Count - 1);
        Bytes -= dropped;
        return dropped;
    }

    /// <summary>Takes the last bytes back. Their memory is neither reused nor returned before <see cref="Reset"/>.</summary>
    public void Retract(long count)
    {
        Debug.Assert(count >= 0 && count <= Bytes && _firstVector == 0, "what was sent is gone");
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

    /// <summary>The unsent parts as the kernel takes them: one, or a message.</summary>
    public bool TryGetSinglePart(out byte* data, out nuint bytes)
    {
        IoVector* first = _vectors + _firstVector;
        data = first->Address;
        bytes = first->Bytes;
        return _vectorCount - _firstVector == 1;
    }

    public MessageHeader* AsMessage() => AsMessage(_vectorCount - _firstVector);

    /// <summary>Whether some of what is unsent are pages of a file.</summary>
    public bool HasPages => _firstPages < _pages.Count;

    /// <summary>What is unsent before the first pages, as the kernel takes it; null where these are first.</summary>
    /// <param name="bytes">Its bytes.</param>
    /// <param name="isAll">Whether one message takes all of it.</param>
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

    /// <summary>The first unsent pages: how many bytes of which file, from where on.</summary>
    public (int File, long Offset, nuint Bytes) FirstPages()
    {
        PagePart pages = _pages[_firstPages];
        IoVector part = _vectors[pages.Vector];
        return (pages.File, part.Address - pages.FileStart, part.Bytes);
    }

    /// <summary>Whether the first unsent pages are in memory too, and could be copied.</summary>
    public bool FirstPagesAreMapped => _pages[_firstPages].IsMapped;

    /// <summary>The first <paramref name="count"/> unsent bytes were sent.</summary>
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

    /// <summary>Visits the unsent parts in order, for a stage that rewrites them.</summary>
    public ReadOnlySpan<IoVector> Parts => new(_vectors + _firstVector, _vectorCount - _firstVector);

    /// <summary>Empties it and gives its blocks back.</summary>
    public void Reset()
    {
        foreach (Block block in _blocks)
        {
            _pools.Return(block);
        }

        _blocks.Clear();
        foreach (SharedBlock block in _shared)
        {
            block.Release();
        }

        _shared.Clear();
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
        Block block = _pools.Rent(Math.Max(sizeHint, BlockPools.AnswerBytes));
        _blocks.Add(block);
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

    /// <summary>A part that is pages of a file, and where in memory that file would begin.</summary>
    private readonly record struct PagePart(int Vector, int File, nint Start)
    {
        public PagePart(int vector, int file, byte* start)
            : this(vector, file, (nint)start)
        {
        }

        public byte* FileStart => (byte*)Start;

        public bool IsMapped { get; init; } = true;
    }
}
