using System.Buffers.Text;
using System.Diagnostics;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>
/// A file whose head promises no length, because it was changing: up to its size when it was opened, in chunks (RFC 9112, section
/// 7.1), or bare for HTTP/1.0.
/// </summary>
internal static class ChunkedBody
{
    /// <summary>The hexadecimal digits of the largest chunk, and CRLF.</summary>
    private const int SizeBytesMax = 10;

    /// <summary>Sends all of it; the source stays the caller's.</summary>
    public static async ValueTask<bool> SendAsync(Connection connection, BodySource source, bool inChunks)
    {
        for (long offset = 0; offset < source.Size; offset += StreamBody.ChunkBytes)
        {
            long bytes = Math.Min(StreamBody.ChunkBytes, source.Size - offset);
            if (inChunks)
            {
                WriteSize(connection, bytes);
            }

            if (!await StreamBody.SendPartAsync(connection, source, offset, bytes))
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
