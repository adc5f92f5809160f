using System.Runtime.CompilerServices;
using Millrace.Engine;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// Sends a long generated document, such as a listing of 50,000 names. It is in the managed heap, which the kernel cannot read, and is
/// copied as the client reads: a client that reads nothing holds no more of the reactor's memory for it than for a file.
/// </summary>
internal static class GeneratedBody
{
    private const int PieceBytes = 64 * 1024;

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, byte[] document)
    {
        for (int sent = 0; sent < document.Length; sent += PieceBytes)
        {
            connection.Write(document.AsSpan(sent, Math.Min(PieceBytes, document.Length - sent)));
            if (await connection.FlushAsync(StreamedBody.ChunkBytes - PieceBytes) == FlushOutcome.Closed)
            {
                return false;
            }
        }

        return true;
    }
}
