using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>A body in native memory, sent by reference: its snapshot is kept until the kernel has taken it.</summary>
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

    private static unsafe void Reference(Connection connection, in BodySource source, long first, long bytes) =>
        connection.WriteReference(source.Asset.BakedBodyAddress + first, (int)bytes);
}
