using System.Diagnostics;

namespace Millrace.Engine.Buffers;

/// <summary>
/// What a connection has received and its handler has not consumed, always contiguous. Either it is borrowed (it lies in the
/// backend's receive buffer, for the duration of one dispatch) or owned (copied to a block of the connection's). An
/// empty one holds no memory.
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

    public readonly byte* Address => (_borrowed is null ? _block.Address : _borrowed) + _start;

    public readonly ReadOnlySpan<byte> Bytes => new(Address, Count);

    /// <summary>Shows the bytes where they lie. Only while nothing else is there; ended by <see cref="Settle"/>.</summary>
    public void Borrow(byte* bytes, int count)
    {
        Debug.Assert(Count == 0 && _block.IsNone && _borrowed is null);
        _borrowed = bytes;
        _start = 0;
        _end = count;
    }

    /// <summary>Ends the borrowing: what was not consumed moves to a block of our own.</summary>
    public void Settle(BlockPools pools)
    {
        if (_borrowed is null)
        {
            return;
        }

        ReadOnlySpan<byte> left = Bytes;
        _borrowed = null;
        _start = _end = 0;
        if (left.Length > 0)
        {
            Append(left, pools);
        }
    }

    /// <summary>Ends the borrowing, and what was not consumed is lost: for a connection that is given up.</summary>
    public void DropBorrowed()
    {
        if (_borrowed is not null)
        {
            _borrowed = null;
            _start = _end = 0;
        }
    }

    public void Append(ReadOnlySpan<byte> bytes, BlockPools pools)
    {
        Debug.Assert(_borrowed is null, "Appending would mix borrowed and owned input.");
        if (_block.Bytes - _end < bytes.Length)
        {
            MakeRoom(bytes.Length, pools);
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

    /// <summary>From here to <see cref="Release"/> bytes already shown stay where they are: somebody holds a pointer to them.</summary>
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

    /// <summary>Forgets all input and gives the memory back.</summary>
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

    private void MakeRoom(int bytes, BlockPools pools)
    {
        ReadOnlySpan<byte> kept = new(_block.Address + _start, Count);
        if (!_held && kept.Length + bytes <= _block.Bytes)
        {
            kept.CopyTo(new Span<byte>(_block.Address, kept.Length));
        }
        else
        {
            // Twice what is there: input that comes byte by byte is copied a bounded number of times.
            Block larger = pools.Rent(Math.Max(kept.Length * 2, kept.Length + bytes));
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
