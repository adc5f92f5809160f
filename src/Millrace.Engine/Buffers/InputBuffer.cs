using System.Diagnostics;

namespace Millrace.Engine.Buffers;

/// <summary>
/// Received input that the handler has not consumed, always contiguous. It is either borrowed (in the backend's receive buffer, for the
/// duration of one dispatch) or owned (copied to a block of the connection). An empty one holds no memory.
/// </summary>
internal unsafe struct InputBuffer
{
    private byte* _borrowed;
    private Block _block;
    private int _start;
    private int _end;
    private List<Block>? _retired;
    private bool _held;

    public readonly int Count => _end - _start;

    public readonly bool IsHeld => _held;

    public readonly int HeldBytes
    {
        get
        {
            int bytes = _block.Bytes;
            for (int i = (_retired?.Count ?? 0) - 1; i >= 0; i--)
            {
                bytes += _retired![i].Bytes;
            }

            return bytes;
        }
    }

    public readonly byte* Address => (_borrowed is null ? _block.Address : _borrowed) + _start;

    public readonly ReadOnlySpan<byte> Bytes => new(Address, Count);

    /// <summary>Refers to received bytes in place. Only while empty; ended by <see cref="Settle"/>.</summary>
    public void Borrow(byte* bytes, int count)
    {
        Debug.Assert(Count == 0 && _block.IsNone && _borrowed is null);
        _borrowed = bytes;
        _start = 0;
        _end = count;
    }

    /// <summary>Ends the borrowing: unconsumed input moves to an owned block.</summary>
    public void Settle(BlockPools pools, Connection? holder = null)
    {
        if (_borrowed is null)
        {
            return;
        }

        ReadOnlySpan<byte> unconsumed = Bytes;
        _borrowed = null;
        _start = _end = 0;
        if (unconsumed.Length > 0)
        {
            Append(unconsumed, pools, holder);
        }
    }

    /// <summary>Ends the borrowing and drops unconsumed input, for a connection that is given up.</summary>
    public void DropBorrowed()
    {
        if (_borrowed is not null)
        {
            _borrowed = null;
            _start = _end = 0;
        }
    }

    public void Append(ReadOnlySpan<byte> bytes, BlockPools pools, Connection? holder = null)
    {
        Debug.Assert(_borrowed is null, "Appending would mix borrowed and owned input.");
        if (_block.Bytes - _end < bytes.Length)
        {
            MakeRoom(bytes.Length, pools, holder);
        }

        bytes.CopyTo(new Span<byte>(_block.Address + _end, bytes.Length));
        _end += bytes.Length;
    }

    public void Consume(int count, BlockPools pools)
    {
        Debug.Assert(count >= 0 && count <= Count);
        _start += count;
        if (_start == _end && !_held)
        {
            Clear(pools);
        }
    }

    /// <summary>Until <see cref="Release"/> bytes already shown keep their address, as a pointer to them is held.</summary>
    public void Hold() => _held = true;

    public void Release(BlockPools pools)
    {
        _held = false;
        if (_retired is not null)
        {
            foreach (Block block in _retired)
            {
                pools.Return(block);
            }

            _retired = null;
        }

        if (_start == _end)
        {
            Clear(pools);
        }
    }

    public void Clear(BlockPools pools)
    {
        Debug.Assert(!_held);
        _borrowed = null;
        _start = _end = 0;
        if (!_block.IsNone)
        {
            pools.Return(_block);
            _block = default;
        }
    }

    private void MakeRoom(int bytes, BlockPools pools, Connection? holder)
    {
        ReadOnlySpan<byte> kept = new(_block.Address + _start, Count);
        if (!_held && kept.Length + bytes <= _block.Bytes)
        {
            kept.CopyTo(new Span<byte>(_block.Address, kept.Length));
        }
        else
        {
            // Doubling: input that comes byte by byte is copied a bounded number of times.
            Block larger = pools.Rent(Math.Max(kept.Length * 2, kept.Length + bytes), holder);
            kept.CopyTo(new Span<byte>(larger.Address, kept.Length));
            Retire(pools);
            _block = larger;
        }

        _end = kept.Length;
        _start = 0;
    }

    private void Retire(BlockPools pools)
    {
        if (_block.IsNone)
        {
            return;
        }

        if (_held)
        {
            (_retired ??= []).Add(_block);
        }
        else
        {
            pools.Return(_block);
        }
    }
}
