using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.Engine.Buffers;

/// <summary>
/// Native memory that any number of sends may read at one time. Its creator holds it, and each send until its end; the last release frees
/// it. Reactor thread only.
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

    /// <summary>Whether the caller is the only holder, and may write to it.</summary>
    public bool IsOwn => _holders == 1;

    public void Hold() => _holders++;

    public void Release()
    {
        Debug.Assert(_holders > 0, "A block was released more often than it was held.");
        if (--_holders == 0)
        {
            NativeMemory.Free(Address);
            Address = null;
        }
    }
}
