using System.Buffers.Text;
using System.Diagnostics;
using System.Text;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// Rewrites a response head whose file turned out to differ from the snapshot's when it was read: removes the validators and the length of
/// the earlier version, adds the framing that fits, and forbids caching.
/// </summary>
internal static class ChangedFileHead
{
    /// <summary>The maximum number of bytes by which a head grows.</summary>
    public const int AddedBytesMax = 128;

    /// <summary>Rewrites the head for a body of known length.</summary>
    public static int WithLength(ReadOnlySpan<byte> head, long length, Span<byte> destination)
    {
        int written = CopyLines(head, destination, keepsConnection: true);
        Append(destination, ref written, "Content-Length: "u8);
        bool formatted = Utf8Formatter.TryFormat(length, destination[written..], out int digits);
        Debug.Assert(formatted, "the caller gives room");
        written += digits;
        Append(destination, ref written, "\r\n\r\n"u8);
        return written;
    }

    /// <summary>Rewrites the head for a chunked body (RFC 9112, section 7.1).</summary>
    public static int Chunked(ReadOnlySpan<byte> head, Span<byte> destination)
    {
        int written = CopyLines(head, destination, keepsConnection: true);
        Append(destination, ref written, "Transfer-Encoding: chunked\r\n\r\n"u8);
        return written;
    }

    /// <summary>Rewrites the head for a body that ends with the connection, as HTTP/1.0 has no chunks.</summary>
    public static int UntilClose(ReadOnlySpan<byte> head, Span<byte> destination)
    {
        int written = CopyLines(head, destination, keepsConnection: false);
        Append(destination, ref written, "Connection: close\r\n\r\n"u8);
        return written;
    }

    private static int CopyLines(ReadOnlySpan<byte> head, Span<byte> destination, bool keepsConnection)
    {
        int written = 0;
        while (!head.StartsWith("\r\n"u8))
        {
            int end = head.IndexOf((byte)'\n') + 1;
            ReadOnlySpan<byte> line = head[..end];
            head = head[end..];
            if (!IsDropped(line[..Math.Max(0, line.IndexOf((byte)':'))], keepsConnection))
            {
                Append(destination, ref written, line);
            }
        }

        // The body may be half of one version and half of another.
        Append(destination, ref written, "Cache-Control: no-store\r\n"u8);
        return written;
    }

    /// <summary>Whether a line is left out. Case is ignored because rules keep the case of the field names that users write.</summary>
    /// <param name="name">The field name; empty for the status line.</param>
    /// <param name="keepsConnection">Whether the Connection line stays.</param>
    private static bool IsDropped(ReadOnlySpan<byte> name, bool keepsConnection) =>
        Ascii.EqualsIgnoreCase(name, "ETag"u8)
        || Ascii.EqualsIgnoreCase(name, "Last-Modified"u8)
        || Ascii.EqualsIgnoreCase(name, "Accept-Ranges"u8)
        || Ascii.EqualsIgnoreCase(name, "Content-Length"u8)
        || CachingFields.Contain(name)
        || (!keepsConnection && Ascii.EqualsIgnoreCase(name, "Connection"u8));

    private static void Append(Span<byte> destination, ref int written, ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(destination[written..]);
        written += bytes.Length;
    }
}
