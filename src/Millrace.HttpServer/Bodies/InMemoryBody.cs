using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// Sends a body in native memory by reference. The snapshot is kept until the kernel has taken the bytes or their pages. The pages are
/// never written again, and they outlive the asset in the sockets that hold them.
/// </summary>
internal static class InMemoryBody
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

    /// <summary>Sends a part; the caller keeps ownership of the source, and may close it when this has completed.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendPartAsync(Connection connection, BodySource source, long first, long bytes)
    {
        // A filter's output is the connection's own memory: limit it as for a body that is read.
        long mostAtOnce = connection.Filters.IsEmpty ? bytes : StreamedBody.ChunkBytes;
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
        byte* part = source.Asset.InMemoryBodyAddress + first;
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
