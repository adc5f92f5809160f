using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// Sends a large body in chunks: the next chunk is read while the last one is sent. The head has promised a length, so a file that shrinks
/// or is overwritten ends the connection with a reset, never with padding or an apparently complete end.
/// </summary>
internal static class StreamedBody
{
    /// <summary>Small enough to stay in the L2 cache between the read and the send, large enough to make both rare.</summary>
    public const int ChunkBytes = 256 * 1024;

    /// <summary>One chunk being sent with the head before it, and the next chunk read after it: never more is unsent.</summary>
    private const int UnsentBytesMax = ChunkBytes + (32 * 1024);

    /// <summary>A file that is written in small steps is written again within this time.</summary>
    private static readonly TimeSpan PagesQuiet = TimeSpan.FromMinutes(1);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, UnflushedHead head, long first, long bytes)
    {
        try
        {
            return await SendPartAsync(connection, source, first, bytes, head);
        }
        finally
        {
            source.Close();
        }
    }

    /// <summary>
    /// Sends a part; the caller keeps ownership of the source. If a head is given, which must be the last output, a failed read is answered
    /// with 500.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendPartAsync(
        Connection connection, BodySource source, long first, long bytes, UnflushedHead? head = null)
    {
        long end = first + bytes;
        long pagesEnd = MaySendPages(source) ? end - connection.FilePages.CopiedBytesAfter : first;
        long pagesEndAt = -1;
        for (long offset = first; offset < end;)
        {
            if (connection.FilePages.TakesFile(source.Descriptor, offset, pagesEnd - offset))
            {
                head = null;
                long sent = await connection.FilePages.SendFileAsync(source.Descriptor, offset, pagesEnd - offset);
                if (sent < 0)
                {
                    return false;
                }

                // A socket that refuses these pages refuses the remaining ones.
                pagesEnd = sent > 0 ? pagesEnd : first;
                pagesEndAt = sent > 0 ? connection.WrittenBytes : pagesEndAt;
                offset += sent;
            }

            int wanted = (int)Math.Min(ChunkBytes, end - offset);
            if (offset + wanted == end && pagesEndAt >= 0 && !await connection.FilePages.AcknowledgedAsync(pagesEndAt))
            {
                connection.Abort();
                return false;
            }

            int count = await SingleReadBody.ReadAsync(connection, source, offset, enough: 1, wanted);
            if (count == SingleReadBody.Unreadable && offset == first && head is { } unsent)
            {
                return UnreadableFileBody.Respond(connection, unsent);
            }

            if (count <= 0)
            {
                connection.Abort();
                return false;
            }

            offset += count;
            if (offset == end && source.Change() == BodyChange.Rewritten)
            {
                // The response is not complete yet, so the client does not take it for complete. Nothing may be awaited after the read: the
                // bytes could be sent meanwhile.
                connection.Abort();
                return false;
            }

            if (await connection.FlushAsync(UnsentBytesMax) == FlushOutcome.Closed)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Pages of a file that was written recently are not sent: a writer can change pages in the socket, but not a copy.</summary>
    private static bool MaySendPages(in BodySource source) =>
        source.Asset.Strategy == BodyStrategy.SendFile && source.HasBeenQuietFor(PagesQuiet);
}
