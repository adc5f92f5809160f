using System.Diagnostics;
using Millrace.Engine.Buffers;

namespace Millrace.Engine.Datagrams;

/// <summary>
/// The memory of a socket's sends, each a <see cref="DatagramSendHead"/> with its payload, one after the other in chunks of the reactor's
/// pool. It holds a chunk only while something in it is in flight, and then the kernel owns what was committed. Reactor thread.
/// </summary>
internal sealed unsafe class DatagramSendMemory(BlockPools pools)
{
    /// <summary>
    /// One megabyte: what an iteration of the loop sends at most (<see cref="Loop.IterationBudget.SendBytes"/>), as sends complete in the
    /// next one unless the socket is full.
    /// </summary>
    public const int ChunksMax = 4;

    private const int Alignment = 16;

    private readonly Stack<DatagramSendChunk> _spares = new();
    private DatagramSendChunk? _current;

    /// <summary>Chunks that are held.</summary>
    public int Chunks { get; private set; }

    /// <summary>A place for a send; null if too much is in flight, or the reactor's memory is at its limit.</summary>
    public DatagramSendHead* TryReserve(int payloadBytes)
    {
        int bytes = sizeof(DatagramSendHead) + payloadBytes;
        Debug.Assert(bytes <= BlockPools.ChunkBytes);
        if (_current is not null && _current.Block.Bytes - _current.Used < bytes)
        {
            // Its last send returns it.
            _current = null;
        }

        if (_current is null && !TryTakeChunk())
        {
            return null;
        }

        return (DatagramSendHead*)(_current!.Block.Address + _current.Used);
    }

    /// <summary>The send of the last reservation is about to be submitted. Returns its chunk, for <see cref="Return"/>.</summary>
    public DatagramSendChunk Commit(int payloadBytes)
    {
        DatagramSendChunk chunk = _current!;
        chunk.Used += (sizeof(DatagramSendHead) + payloadBytes + Alignment - 1) & -Alignment;
        chunk.InFlight++;
        return chunk;
    }

    /// <summary>A send of this chunk is not in flight any more.</summary>
    public void Return(DatagramSendChunk chunk)
    {
        if (--chunk.InFlight == 0)
        {
            Release(chunk);
        }
    }

    /// <summary>Gives back a chunk of which nothing was sent.</summary>
    public void Trim()
    {
        if (_current is { InFlight: 0 })
        {
            Release(_current);
        }
    }

    private bool TryTakeChunk()
    {
        // The first may be of the reserve: refusals and ends are sent, too, when connections hold all the memory.
        if (Chunks == ChunksMax || !pools.TryRent(BlockPools.ChunkBytes, out Block block, usesReserve: Chunks == 0))
        {
            return false;
        }

        _current = _spares.TryPop(out DatagramSendChunk? spare) ? spare : new DatagramSendChunk();
        (_current.Block, _current.Used) = (block, 0);
        Chunks++;
        return true;
    }

    private void Release(DatagramSendChunk chunk)
    {
        if (chunk == _current)
        {
            _current = null;
        }

        pools.Return(chunk.Block);
        chunk.Block = default;
        _spares.Push(chunk);
        Chunks--;
    }
}

/// <summary>A chunk of memory for sends: see <see cref="DatagramSendMemory"/>.</summary>
internal sealed class DatagramSendChunk
{
    public Block Block { get; set; }

    public int Used { get; set; }

    public int InFlight { get; set; }
}
