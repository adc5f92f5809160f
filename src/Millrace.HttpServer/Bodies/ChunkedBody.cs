using System.Buffers.Text;
using System.Diagnostics;
using Millrace.Engine;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// Sends a file whose head has no length because the file was changing, up to its size at opening: in chunks (RFC 9112, section 7.1), or
/// without framing for HTTP/1.0.
/// </summary>
internal static class ChunkedBody
{
    /// <summary>The hexadecimal digits of the largest chunk size, and CRLF.</summary>
    private const int SizeBytesMax = 10;

    /// <summary>Sends the whole file; the caller keeps ownership of the source.</summary>
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, bool inChunks)
    {
        for (long offset = 0; offset < source.Size; offset += StreamedBody.ChunkBytes)
        {
            long bytes = Math.Min(StreamedBody.ChunkBytes, source.Size - offset);
            if (inChunks)
            {
                WriteSize(connection, bytes);
            }

            if (!await StreamedBody.SendPartAsync(connection, source, offset, bytes))
            {
                return false;
            }

            if (inChunks)
            {
                connection.Write("\r\n"u8);
            }
        }

        if (inChunks)
        {
            connection.Write("0\r\n\r\n"u8);
        }

        return true;
    }

    private static void WriteSize(Connection connection, long bytes)
    {
        Span<byte> room = connection.GetSpan(SizeBytesMax);
        bool formatted = Utf8Formatter.TryFormat(bytes, room, out int digits, new('x'));
        Debug.Assert(formatted);
        "\r\n"u8.CopyTo(room[digits..]);
        connection.Advance(digits + 2);
    }
}
