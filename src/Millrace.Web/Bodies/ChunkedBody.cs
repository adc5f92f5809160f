using System.Buffers.Text;
using System.Diagnostics;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>
/// The rest of a file that turned out longer than announced: up to its size at that moment, in chunks (RFC 9112, section 7.1), or
/// bare for HTTP/1.0.
/// </summary>
internal static class ChunkedBody
{
    /// <summary>The hexadecimal digits of the largest chunk, and CRLF.</summary>
    private const int SizeBytesMax = 10;

    public static async ValueTask<bool> SendRestAsync(Connection connection, BodySource source, long offset, bool inChunks)
    {
        long end = Math.Max(source.SizeNow(), offset);
        while (offset < end)
        {
            int bytes = (int)Math.Min(StreamBody.ChunkBytes, end - offset);
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

            offset += bytes;
        }

        if (inChunks)
        {
            connection.Write("0\r\n\r\n"u8);
        }

        return true;
    }

    /// <summary>The line before a chunk of that many bytes, at least one.</summary>
    public static void WriteSize(Connection connection, int bytes)
    {
        Debug.Assert(bytes > 0, "a chunk of no bytes is the last one");
        Span<byte> room = connection.GetSpan(SizeBytesMax);
        bool formatted = Utf8Formatter.TryFormat(bytes, room, out int digits, new('x'));
        Debug.Assert(formatted);
        "\r\n"u8.CopyTo(room[digits..]);
        connection.Advance(digits + 2);
    }
}
