using System.Runtime.InteropServices;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Kernel;

/// <summary>
/// The provided buffers. One that was returned is overwritten at once, so that whoever still reads it reads nothing of his, and must
/// still be so when it is lent again: nobody writes to what is the kernel's.
/// </summary>
internal sealed unsafe class ReceiveSlab : IDisposable
{
    private const byte Scribble = 0xDB;

    private readonly World _world;
    private readonly byte* _slab;
    private readonly int _bufferBytes;
    private readonly List<ushort> _free = [];
    private readonly bool[] _isLent;

    public ReceiveSlab(World world)
    {
        _world = world;
        int count = world.Shape.ReceiveBuffers;
        _bufferBytes = world.Shape.ReceiveBufferBytes;
        _isLent = new bool[count];
        _slab = (byte*)NativeMemory.Alloc((nuint)(count * _bufferBytes));
        new Span<byte>(_slab, count * _bufferBytes).Fill(Scribble);
        for (int id = 0; id < count; id++)
        {
            _free.Add((ushort)id);
        }
    }

    public int Lent => _isLent.Length - _free.Count;

    public bool IsEmpty => _free.Count == 0;

    /// <summary>Any of the free buffers; there must be one.</summary>
    public Span<byte> Lend(int connection, out ushort id)
    {
        int index = _world.Random.Below(_free.Count);
        id = _free[index];
        _free[index] = _free[^1];
        _free.RemoveAt(_free.Count - 1);
        _isLent[id] = true;
        var buffer = new Span<byte>(AddressOf(id), _bufferBytes);
        if (buffer.ContainsAnyExcept(Scribble))
        {
            _world.Fail(connection, $"Receive buffer {id} was written to while it was the kernel's.");
        }

        return buffer;
    }

    public byte* AddressOf(ushort id) => _slab + ((nint)id * _bufferBytes);

    public void Return(ushort id)
    {
        if (!_isLent[id])
        {
            _world.Fail(Trace.NoConnection, $"Receive buffer {id} was returned that the kernel has.");
            return;
        }

        _isLent[id] = false;
        new Span<byte>(AddressOf(id), _bufferBytes).Fill(Scribble);
        _free.Add(id);
    }

    public void Dispose() => NativeMemory.Free(_slab);
}
