using System.Buffers;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>Bytes on their way in one direction of a connection, no more than its capacity.</summary>
internal sealed class ByteQueue(int capacity)
{
    private byte[] _bytes = [];
    private int _start;
    private int _end;

    public int Count => _end - _start;

    public int Room => capacity - Count;

    public ReadOnlySpan<byte> Bytes => _bytes.AsSpan(_start, Count);

    /// <summary>Room to write to after what is there; counted by <see cref="Append(int)"/>.</summary>
    public Span<byte> Reserve(int count)
    {
        if (_bytes.Length - _end < count)
        {
            MakeRoom(count);
        }

        return _bytes.AsSpan(_end, count);
    }

    public void Append(int count) => _end += count;

    public void Append(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(Reserve(bytes.Length));
        Append(bytes.Length);
    }

    public void Consume(int count)
    {
        _start += count;
        if (_start == _end)
        {
            Clear();
        }
    }

    /// <summary>Forgets everything and gives its memory back.</summary>
    public void Clear()
    {
        _start = _end = 0;
        if (_bytes.Length > 0)
        {
            ArrayPool<byte>.Shared.Return(_bytes);
            _bytes = [];
        }
    }

    private void MakeRoom(int count)
    {
        if (Count + count <= _bytes.Length)
        {
            Bytes.CopyTo(_bytes);
        }
        else
        {
            byte[] larger = ArrayPool<byte>.Shared.Rent(Math.Max(Count + count, 256));
            Bytes.CopyTo(larger);
            if (_bytes.Length > 0)
            {
                ArrayPool<byte>.Shared.Return(_bytes);
            }

            _bytes = larger;
        }

        _end -= _start;
        _start = 0;
    }
}
