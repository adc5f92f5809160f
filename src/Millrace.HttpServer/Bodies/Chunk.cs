using System.Buffers.Text;
using System.Diagnostics;
using Millrace.Engine;

namespace Millrace.HttpServer.Bodies;

/// <summary>Writes the chunked coding (RFC 9112, section 7.1) into a connection's output. Reactor thread.</summary>
internal static class Chunk
{
    /// <summary>The hexadecimal digits of the largest size, and CRLF.</summary>
    private const int SizeBytesMax = 18;

    public static void Write(Connection connection, ReadOnlySpan<byte> bytes)
    {
        WriteSize(connection, bytes.Length);
        connection.Write(bytes);
        connection.Write("\r\n"u8);
    }

    /// <param name="connection">The connection.</param>
    /// <param name="trailerLines">The trailer fields, each with its CRLF.</param>
    public static void End(Connection connection, ReadOnlySpan<byte> trailerLines)
    {
        connection.Write("0\r\n"u8);
        connection.Write(trailerLines);
        connection.Write("\r\n"u8);
    }

    public static void WriteSize(Connection connection, long bytes)
    {
        Span<byte> room = connection.GetSpan(SizeBytesMax);
        bool formatted = Utf8Formatter.TryFormat(bytes, room, out int digits, new('x'));
        Debug.Assert(formatted);
        "\r\n"u8.CopyTo(room[digits..]);
        connection.Advance(digits + 2);
    }
}
