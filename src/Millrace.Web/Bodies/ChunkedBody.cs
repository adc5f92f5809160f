using System.Buffers.Text;
using System.Diagnostics;
using System.Runtime.CompilerServices;
using Millrace.Engine;
using Millrace.StaticFiles.Catalog;

namespace Millrace.Web.Bodies;

/// <summary>
/// The rest of a file whose length nobody knows, because it is growing: in chunks (RFC 9112, section 7.1) of what each read brings, or
/// bare for HTTP/1.0, until a read brings nothing.
/// </summary>
internal static class ChunkedBody
{
    /// <summary>"40000" and CRLF: the digits of the largest chunk.</summary>
    private const int SizeBytesMax = 10;

    private const int UnsentBytesMax = StreamBody.ChunkBytes + (32 * 1024);

    public static async ValueTask<bool> SendRestAsync(Connection connection, BodySource source, long offset, bool inChunks)
    {
        while (true)
        {
            // The size stands before the bytes and is known after: it is written padded, and corrected (leading zeros are digits too).
            nint size = inChunks ? ReserveSize(connection) : 0;
            int count = await connection.ReadFileAsync(source.Descriptor, offset, StreamBody.ChunkBytes);
            if (count == 0)
            {
                return End(connection, inChunks);
            }

            offset += count;
            if (inChunks)
            {
                FillSize(size, count);
                connection.Write("\r\n"u8);
            }

            if (await connection.FlushAsync(UnsentBytesMax) == FlushOutcome.Closed)
            {
                return false;
            }
        }
    }

    public static void WriteSize(Connection connection, int bytes)
    {
        Span<byte> room = connection.GetSpan(SizeBytesMax);
        connection.Advance(FormatSize(room, bytes));
    }

    private static bool End(Connection connection, bool inChunks)
    {
        if (inChunks)
        {
            connection.Retract(SizeBytesMax);
            connection.Write("0\r\n\r\n"u8);
        }

        return true;
    }

    private static unsafe nint ReserveSize(Connection connection)
    {
        Span<byte> room = connection.GetSpan(SizeBytesMax);
        nint address = (nint)Unsafe.AsPointer(ref room[0]);
        connection.Advance(FormatSize(room, 0));
        return address;
    }

    private static unsafe void FillSize(nint address, int bytes) => FormatSize(new Span<byte>((void*)address, SizeBytesMax), bytes);

    private static int FormatSize(Span<byte> room, int bytes)
    {
        bool formatted = Utf8Formatter.TryFormat(bytes, room, out int digits, new('x', SizeBytesMax - 2));
        Debug.Assert(formatted && digits == SizeBytesMax - 2);
        "\r\n"u8.CopyTo(room[digits..]);
        return SizeBytesMax;
    }
}
