using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>
/// A body in native memory, sent by reference: its snapshot is kept until the kernel has taken it, or its pages. These nobody writes to
/// any more, and they outlive the asset in the sockets that hold them.
/// </summary>
internal static class BakedBody
{
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, long first, long bytes)
    {
        try
        {
            return await SendPartAsync(connection, source, first, bytes);
        }
        finally
        {
            source.Close();
        }
    }

    /// <summary>The same, and the source stays the caller's. It may be closed when this has ended.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendPartAsync(Connection connection, BodySource source, long first, long bytes)
    {
        // What a stage makes of it is the connection's own memory: no more of it at one time than of a body that is read.
        long mostAtOnce = connection.HasStages ? StreamBody.ChunkBytes : bytes;
        for (long sent = 0; sent < bytes; sent += mostAtOnce)
        {
            Reference(connection, source, first + sent, Math.Min(mostAtOnce, bytes - sent));
            if (await connection.FlushAsync() == FlushOutcome.Closed)
            {
                return false;
            }
        }

        return true;
    }

    private static unsafe void Reference(Connection connection, in BodySource source, long first, long bytes)
    {
        byte* part = source.Asset.BakedBodyAddress + first;
        if (source.Descriptor == Asset.NoDescriptor)
        {
            connection.WriteReference(part, (int)bytes);
        }
        else
        {
            connection.WritePages(part, (int)bytes, source.Descriptor, first);
        }
    }
}
