using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// Sends a body that one read brings. The bytes are read directly after the head, and nothing is sent before. A file that was changed in
/// place since the snapshot was made is therefore noticed (one statx after the reads of an iteration), and <see cref="ChangedFileBody"/>
/// sends its present content.
/// </summary>
internal static class SingleReadBody
{
    /// <summary>The result of <see cref="ReadAsync"/> for a file that cannot be read.</summary>
    public const int Unreadable = -1;

    /// <summary>Sends the whole file. The read asks for one byte more than expected, to see whether the file has grown.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, UnflushedHead head)
    {
        try
        {
            int size = (int)source.Size;
            int read = await ReadAsync(connection, source, 0, size, size + 1);
            return read == Unreadable ? UnreadableFileBody.Respond(connection, head)
                : (read == size && source.Change(connection.Reactor.Counters.Iterations) == BodyChange.None)
                || await ChangedFileBody.SendAsync(connection, source, head, read);
        }
        finally
        {
            source.Close();
        }
    }

    /// <summary>
    /// Sends a part of the file. If the file changed meanwhile, the promised bytes are no longer available: the connection is reset.
    /// </summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendPartAsync(Connection connection, BodySource source, UnflushedHead head, long first, long bytes)
    {
        try
        {
            int read = await ReadAsync(connection, source, first, (int)bytes, (int)bytes);
            if (read == Unreadable)
            {
                return UnreadableFileBody.Respond(connection, head);
            }

            if (read == bytes && source.Change(connection.Reactor.Counters.Iterations) != BodyChange.Rewritten)
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
    /// Reads a file after what is written, until there are enough bytes or the file ends. Returns the number of bytes, or <see
    /// cref="Unreadable"/>, with nothing added to the output, if the read fails.
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
            // The engine counts and logs it.
            connection.Retract(read);
            return Unreadable;
        }

        return read;
    }
}
