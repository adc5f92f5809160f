using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;
using Millrace.Web.Http1;

namespace Millrace.Web.Bodies;

/// <summary>
/// A file that turned out to be another than its head says, before anything went out: it is read again until no write came in between,
/// and sent as it is then, without the validators of the version before. What does not fit one read goes out in chunks.
/// </summary>
internal static class ChangedBody
{
    /// <summary>A file that is saved is quiet by the second look; one that is written without end never is.</summary>
    private const int AttemptsMax = 4;

    /// <param name="connection">Whose output to write to.</param>
    /// <param name="source">The file; it stays the caller's.</param>
    /// <param name="head">The head that was written for the version before.</param>
    /// <param name="read">The bytes that were read behind it.</param>
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, SentHead head, int read)
    {
        connection.Retract(read);
        for (int attempt = 0; attempt < AttemptsMax; attempt++)
        {
            source = source.Renewed();
            if (source.Size >= StreamBody.ChunkBytes)
            {
                connection.Retract(head.Bytes);
                return await SendInChunksAsync(connection, source, head);
            }

            int wanted = (int)source.Size + 1;
            nint body = Position(connection, wanted);
            read = await RingBody.ReadAsync(connection, source, 0, (int)source.Size, wanted);
            if (read == RingBody.Unreadable)
            {
                return UnreadableBody.Answer(connection, head);
            }

            connection.Retract(read);
            if (read == source.Size && source.Change() == BodyChange.None)
            {
                connection.Retract(head.Bytes);
                WriteWhole(connection, head, body, read);
                return true;
            }
        }

        connection.Abort();
        return false;
    }

    private static async ValueTask<bool> SendInChunksAsync(Connection connection, BodySource source, SentHead head)
    {
        WriteHead(connection, head);
        return await ChunkedBody.SendAsync(connection, source, head.TakesChunks)

            // Without chunks it is the end of the connection that ends the body.
            && head.TakesChunks;
    }

    private static unsafe nint Position(Connection connection, int bytes) =>
        (nint)Unsafe.AsPointer(ref connection.GetSpan(bytes)[0]);

    private static unsafe void WriteWhole(Connection connection, SentHead head, nint body, int bodyBytes)
    {
        Span<byte> room = connection.GetSpan(head.Bytes + ChangedHead.AddedBytesMax);
        connection.Advance(ChangedHead.WithLength(head.Text, bodyBytes, room));
        head.Exchange?.BeginBody(connection.WrittenBytes);
        connection.WriteReference((byte*)body, bodyBytes);
    }

    private static void WriteHead(Connection connection, SentHead head)
    {
        Span<byte> room = connection.GetSpan(head.Bytes + ChangedHead.AddedBytesMax);
        connection.Advance(head.TakesChunks ? ChangedHead.Chunked(head.Text, room) : ChangedHead.UntilClose(head.Text, room));
        head.Exchange?.BeginBody(connection.WrittenBytes);
    }
}
