using Millrace.Engine.Buffers;
using Millrace.Interop;
using Millrace.Interop.IoUring;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Uring;

/// <content>
/// Memory that the kernel has pinned once (IORING_REGISTER_BUFFERS): zero-copy sends from it do not look its pages up and pin them each
/// time, and reads into it meet no fault. It is the ring's only buffer, of index 0, which entries name by being zeroed. The kernel lets it
/// go with the ring, or when the last packet that it stands in was acknowledged.
/// </content>
internal sealed unsafe partial class UringBackend
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
            throw new EngineException(UringRefusal.ForMemory(-result));
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
            throw new EngineException(UringRefusal.ForMemory(Errno.ENOMEM));
        }
    }

    private bool IsRegistered(byte* address, nuint bytes) => Arena is not null && Arena.Holds(address, bytes);
}
