using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>
/// A body that one read brings: it lands straight behind the head, and only then does anything go out. So a file that has changed in
/// place since the catalogue was made is noticed (a statx behind the reads of a turn), and sent as it is now by <see cref="ChangedBody"/>.
/// </summary>
internal static class RingBody
{
    /// <summary>What <see cref="ReadAsync"/> gives for a file that cannot be read.</summary>
    public const int Unreadable = -1;

    /// <summary>The whole file. One byte more is asked for than there should be: it tells that the file has grown.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, SentHead head)
    {
        try
        {
            int size = (int)source.Size;
            int read = await ReadAsync(connection, source, 0, size, size + 1);
            return read == Unreadable ? UnreadableBody.Answer(connection, head)
                : (read == size && source.Change(connection.Reactor.Counters.Turns) == BodyChange.None)
                || await ChangedBody.SendAsync(connection, source, head, read);
        }
        finally
        {
            source.Close();
        }
    }

    /// <summary>A part of the file. Where it changed meanwhile, what the head says cannot be had any more: a reset.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendPartAsync(Connection connection, BodySource source, SentHead head, long first, long bytes)
    {
        try
        {
            int read = await ReadAsync(connection, source, first, (int)bytes, (int)bytes);
            if (read == Unreadable)
            {
                return UnreadableBody.Answer(connection, head);
            }

            if (read == bytes && source.Change(connection.Reactor.Counters.Turns) != BodyChange.Rewritten)
            {
                return true;
            }

            connection.Abort();
            return false;
        }
        finally
        {
            source.Close();
        }
    }

    /// <summary>
    /// Reads a file behind what is written until there is enough, or no more of it, and gives how many bytes that was;
    /// <see cref="Unreadable"/>, with nothing left of it, where the disk fails.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<int> ReadAsync(Connection connection, BodySource source, long first, int enough, int most)
    {
        int read = 0;
        try
        {
            while (read < enough)
            {
                int count = await connection.ReadFileAsync(source.Descriptor, first + read, most - read);
                if (count == 0)
                {
                    break;
                }

                read += count;
            }
        }
        catch (IOException)
        {
            // The engine counts it and says so.
            connection.Retract(read);
            return Unreadable;
        }

        return read;
    }
}
