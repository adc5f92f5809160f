using System.Runtime.CompilerServices;
using Millrace.Engine;

namespace Millrace.Web.Bodies;

/// <summary>
/// A long document of the server's own, a listing of 50,000 names, say. It lies in the managed heap, where the kernel cannot read it, and
/// is copied as the client takes it: whoever takes nothing has no more of the reactor's memory for it than for a file.
/// </summary>
internal static class DocumentBody
{
    private const int PieceBytes = 64 * 1024;

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, byte[] document)
    {
        for (int sent = 0; sent < document.Length; sent += PieceBytes)
        {
            connection.Write(document.AsSpan(sent, Math.Min(PieceBytes, document.Length - sent)));
            if (await connection.FlushAsync(StreamBody.ChunkBytes - PieceBytes) == FlushOutcome.Closed)
            {
                return false;
            }
        }

        return true;
    }
}
