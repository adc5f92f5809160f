using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.HttpServer.Http1;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// Sends a file that turned out to differ from its head before anything was sent. Reads it again until no write happens in between, and
/// sends that content without the validators of the earlier version. A file larger than one read is sent in chunks. A file that is written
/// continuously is answered with 500.
/// </summary>
internal static class ChangedFileBody
{
    /// <summary>A file that was saved is stable on the second attempt; a file that is written continuously never is.</summary>
    private const int AttemptsMax = 4;

    /// <param name="connection">The connection whose output is written to.</param>
    /// <param name="source">The file; the caller keeps ownership.</param>
    /// <param name="head">The head that was written for the earlier version.</param>
    /// <param name="read">The number of body bytes after that head.</param>
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, UnflushedHead head, int read)
    {
        connection.Retract(read);
        for (int attempt = 0; attempt < AttemptsMax; attempt++)
        {
            source = source.Renewed();
            if (source.Size >= StreamedBody.ChunkBytes)
            {
                connection.Retract(head.Bytes);
                return await SendInChunksAsync(connection, source, head);
            }

            int wanted = (int)source.Size + 1;
            nint body = ReserveBody(connection, wanted);
            read = await SingleReadBody.ReadAsync(connection, source, 0, (int)source.Size, wanted);
            if (read == SingleReadBody.Unreadable)
            {
                return UnreadableFileBody.Respond(connection, head);
            }

            connection.Retract(read);

            // Fewer bytes than its size and no write: the reported size is wrong, and the bytes that can be read are the file.
            if (read <= source.Size && source.Change() == BodyChange.None)
            {
                connection.Retract(head.Bytes);
                WriteWhole(connection, head, body, read);
                return true;
            }
        }

        return UnreadableFileBody.Respond(connection, head);
    }

    private static async ValueTask<bool> SendInChunksAsync(Connection connection, BodySource source, UnflushedHead head)
    {
        WriteHead(connection, head);
        return await ChunkedBody.SendAsync(connection, source, head.TakesChunks)

            // Without chunks the end of the connection ends the body.
            && head.TakesChunks;
    }

    private static unsafe nint ReserveBody(Connection connection, int bytes) =>
        (nint)Unsafe.AsPointer(ref connection.GetSpan(bytes)[0]);

    private static unsafe void WriteWhole(Connection connection, UnflushedHead head, nint body, int bodyBytes)
    {
        Span<byte> room = connection.GetSpan(head.Bytes + ChangedFileHead.AddedBytesMax);
        connection.Advance(ChangedFileHead.WithLength(head.Text, bodyBytes, room));
        head.Exchange?.BeginBody(connection.WrittenBytes);
        connection.WriteReference((byte*)body, bodyBytes);
    }

    private static void WriteHead(Connection connection, UnflushedHead head)
    {
        Span<byte> room = connection.GetSpan(head.Bytes + ChangedFileHead.AddedBytesMax);
        connection.Advance(head.TakesChunks ? ChangedFileHead.Chunked(head.Text, room) : ChangedFileHead.UntilClose(head.Text, room));
        head.Exchange?.BeginBody(connection.WrittenBytes);
    }
}
