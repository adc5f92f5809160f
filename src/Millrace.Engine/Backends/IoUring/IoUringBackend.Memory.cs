using Millrace.Engine.Buffers;
using Millrace.Interop;
using Millrace.Interop.IoUring;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.IoUring;

/// <content>
/// Memory that the kernel pins once (IORING_REGISTER_BUFFERS): zero-copy sends from it do not look up and pin pages each time, and reads
/// into it cause no faults. It is the ring's only buffer, index 0, which a zeroed entry refers to. The kernel releases it with the ring, or
/// when the last packet that refers to it is acknowledged.
/// </content>
internal sealed unsafe partial class IoUringBackend
{
    public override Arena? Arena { get; }

    private static Arena? RegisterMemory(Ring ring, int bytes)
    {
        if (bytes == 0)
        {
            return null;
        }

        Arena arena = Map(((long)bytes + BlockPools.ChunkBytes - 1) / BlockPools.ChunkBytes * BlockPools.ChunkBytes);
        var whole = new IoVector { Address = arena.Address, Bytes = (nuint)arena.Bytes };
        int result = ring.Register(RegisterOpcode.Buffers, &whole, 1);
        if (result < 0)
        {
            arena.Dispose();
            throw new EngineException(IoUringRefusal.ForMemory(-result));
        }

        return arena;
    }

    private static Arena Map(long bytes)
    {
        try
        {
            return new Arena(bytes);
        }
        catch (InsufficientMemoryException)
        {
            throw new EngineException(IoUringRefusal.ForMemory(Errno.ENOMEM));
        }
    }

    private bool IsRegistered(byte* address, nuint bytes) => Arena is not null && Arena.Contains(address, bytes);
}
