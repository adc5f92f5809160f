using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>A body in native memory, sent by reference: its snapshot is kept until the kernel has taken it.</summary>
internal static class BakedBody
{
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source)
    {
        try
        {
            Reference(connection, source);
            return await connection.FlushAsync() == FlushOutcome.Sent;
        }
        finally
        {
            source.Close();
        }
    }

    private static unsafe void Reference(Connection connection, in BodySource source) =>
        connection.WriteReference(source.Asset.BakedBodyAddress, (int)source.Size);
}
