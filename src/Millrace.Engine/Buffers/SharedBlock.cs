using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.Engine.Buffers;

/// <summary>
/// Native memory that any number of sends may read at one time. Its maker holds it, and each send until it has ended; the last of them
/// frees it. Reactor thread only.
/// </summary>
internal sealed unsafe class SharedBlock
{
    private int _holders = 1;

    public SharedBlock(int bytes)
    {
        Bytes = bytes;
        Address = (byte*)NativeMemory.Alloc((nuint)bytes);
    }

    public byte* Address { get; private set; }

    public int Bytes { get; }

    public Span<byte> Span => new(Address, Bytes);

    /// <summary>Whether it has one holder: who asks, and may write to it.</summary>
    public bool IsOwn => _holders == 1;

    public void Hold() => _holders++;

    public void Release()
    {
        Debug.Assert(_holders > 0, "A block is released by who does not hold it.");
        if (--_holders == 0)
        {
            NativeMemory.Free(Address);
            Address = null;
        }
    }
}
