using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>
/// A large body in chunks: the next one is read while the last is sent. The head has promised a length, so a file that shrinks under
/// it, or is written over, ends the connection with a reset, never with padding or an end that looks whole.
/// </summary>
internal static class StreamBody
{
    /// <summary>Small enough to stay in the L2 cache between the read and the send, large enough to make both rare.</summary>
    public const int ChunkBytes = 256 * 1024;

    /// <summary>One chunk being sent, its head before it, and the next one read behind: no more is ever unsent.</summary>
    private const int UnsentBytesMax = ChunkBytes + (32 * 1024);

    /// <summary>Long enough for whoever writes bit by bit to have written again.</summary>
    private static readonly TimeSpan PagesQuiet = TimeSpan.FromMinutes(1);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, SentHead head, long first, long bytes)
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

    /// <summary>The same, and the source stays the caller's. With a head, which stands last, it can still be answered 500.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendPartAsync(
        Connection connection, BodySource source, long first, long bytes, SentHead? head = null)
    {
        long end = first + bytes;
        long pagesEnd = MaySendPages(source) ? end - connection.CopiedBytesBehindFilePages : first;
        long pagesEndAt = -1;
        for (long offset = first; offset < end;)
        {
            if (connection.TakesFilePages(source.Descriptor, offset, pagesEnd - offset))
            {
                head = null;
                long sent = await connection.SendFilePagesAsync(source.Descriptor, offset, pagesEnd - offset);
                if (sent < 0)
                {
                    return false;
                }

                // Who refuses what is at hand refuses the rest.
                pagesEnd = sent > 0 ? pagesEnd : first;
                pagesEndAt = sent > 0 ? connection.WrittenBytes : pagesEndAt;
                offset += sent;
            }

            int wanted = (int)Math.Min(ChunkBytes, end - offset);
            if (offset + wanted == end && pagesEndAt >= 0 && !await connection.AcknowledgedAsync(pagesEndAt))
            {
                connection.Abort();
                return false;
            }

            int count = await RingBody.ReadAsync(connection, source, offset, enough: 1, wanted);
            if (count == RingBody.Unreadable && offset == first && head is { } unsent)
            {
                return UnreadableBody.Answer(connection, unsent);
            }

            if (count <= 0)
            {
                connection.Abort();
                return false;
            }

            offset += count;
            if (offset == end && source.Change() == BodyChange.Rewritten)
            {
                // Not whole yet, and so it will not be taken for whole. Nothing may be awaited behind the read: it might go out meanwhile.
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

    /// <summary>Not those of a file that somebody is at: what is copied he cannot change any more.</summary>
    private static bool MaySendPages(in BodySource source) =>
        source.Asset.Strategy == BodyStrategy.SendFile && source.HasBeenQuietFor(PagesQuiet);
}
