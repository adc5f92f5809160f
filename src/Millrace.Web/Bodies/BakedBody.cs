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
            Reference(connection, source, first, bytes);
            return await connection.FlushAsync() == FlushOutcome.Sent;
        }
        finally
        {
            source.Close();
        }
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
