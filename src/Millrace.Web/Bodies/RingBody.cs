using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;
using Millrace.Web.Http1;

namespace Millrace.Web.Bodies;

/// <summary>
/// A body that one read brings: it lands straight behind the head, and only then does anything go out. So a file that has changed in
/// place since the catalogue was made is answered as it is now: shorter, its length is what was read; longer, in chunks until its end.
/// </summary>
internal static class RingBody
{
    /// <summary>The whole file. One byte more is asked for than there should be: it tells that the file has grown.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, SentHead head)
    {
        try
        {
            int size = (int)source.Size;
            int wanted = size + 1;
            nint body = Position(connection, wanted);
            int read = 0;
            while (read < wanted && read != size)
            {
                int count = await connection.ReadFileAsync(source.Descriptor, read, wanted - read);
                if (count == 0)
                {
                    break;
                }

                read += count;
            }

            if (read < size)
            {
                RewriteLength(connection, head, body, read);
            }
            else if (read > size)
            {
                return await SendGrownAsync(connection, source, head, body, read);
            }
        }
        finally
        {
            source.Close();
        }

        return true;
    }

    /// <summary>A part of the file. Where the file ends early, what its head says cannot be had any more: a reset.</summary>
    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    public static async ValueTask<bool> SendPartAsync(Connection connection, BodySource source, long first, long bytes)
    {
        try
        {
            long read = 0;
            while (read < bytes)
            {
                int count = await connection.ReadFileAsync(source.Descriptor, first + read, (int)(bytes - read));
                if (count == 0)
                {
                    connection.Abort();
                    return false;
                }

                read += count;
            }
        }
        finally
        {
            source.Close();
        }

        return true;
    }

    private static async ValueTask<bool> SendGrownAsync(Connection connection, BodySource source, SentHead head, nint body, int read)
    {
        RewriteFraming(connection, head, body, read);
        if (!await ChunkedBody.SendRestAsync(connection, source, read, head.TakesChunks))
        {
            return false;
        }

        // Without chunks it is the end of the connection that ends the body.
        return head.TakesChunks;
    }

    private static unsafe nint Position(Connection connection, int bytes) =>
        (nint)Unsafe.AsPointer(ref connection.GetSpan(bytes)[0]);

    private static unsafe void RewriteLength(Connection connection, SentHead head, nint body, int bodyBytes)
    {
        connection.Retract(head.Bytes + bodyBytes);
        Span<byte> room = connection.GetSpan(head.Bytes + ChangedHead.AddedBytesMax);
        connection.Advance(ChangedHead.WithLength(head.Text, bodyBytes, room));
        connection.WriteReference((byte*)body, bodyBytes);
    }

    private static unsafe void RewriteFraming(Connection connection, SentHead head, nint body, int bodyBytes)
    {
        connection.Retract(head.Bytes + bodyBytes);
        Span<byte> room = connection.GetSpan(head.Bytes + ChangedHead.AddedBytesMax);
        connection.Advance(head.TakesChunks ? ChangedHead.Chunked(head.Text, room) : ChangedHead.UntilClose(head.Text, room));
        if (head.TakesChunks)
        {
            ChunkedBody.WriteSize(connection, bodyBytes);
        }

        connection.WriteReference((byte*)body, bodyBytes);
        if (head.TakesChunks)
        {
            connection.Write("\r\n"u8);
        }
    }
}
