using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>A body in native memory, sent by reference: the lease is held until the kernel has taken it.</summary>
internal static class BakedBody
{
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, SnapshotLease lease, Asset asset)
    {
        try
        {
            Reference(connection, asset);
            return await connection.FlushAsync() == FlushOutcome.Sent;
        }
        finally
        {
            lease.Release();
        }
    }

    private static unsafe void Reference(Connection connection, Asset asset) =>
        connection.WriteReference(asset.BakedBodyAddress, (int)asset.Size);
}
