using System.Buffers;
using System.Diagnostics;

namespace Millrace.Engine.Pipes;

/// <summary>
/// Exposes native memory as <see cref="Memory{T}"/>. Owns nothing; it is pointed to each new piece, as the pipes' contract forbids the use
/// of earlier ones.
/// </summary>
internal sealed unsafe class NativeMemoryManager : MemoryManager<byte>
{
    private byte* _address;
    private int _bytes;

    public Memory<byte> PointAt(byte* address, int bytes)
    {
        Debug.Assert(bytes >= 0);
        _address = address;
        _bytes = bytes;
        return Memory;
    }

    public override Span<byte> GetSpan() => new(_address, _bytes);

    /// <summary>Native memory does not move.</summary>
    public override MemoryHandle Pin(int elementIndex = 0)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(elementIndex);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(elementIndex, _bytes);
        return new MemoryHandle(_address + elementIndex);
    }

    public override void Unpin()
    {
    }

    protected override void Dispose(bool disposing)
    {
    }
}
