using Millrace.Engine;
using Millrace.Http;

namespace Millrace.Web.Http1;

/// <summary>Errors that no plan decides on: refused heads, what cannot be opened now. With a line of text for people.</summary>
internal static class PlainAnswer
{
    /// <summary>Status lines, names and the body are all short.</summary>
    private const int OwnBytesMax = 512;

    /// <param name="connection">Whose output to write to.</param>
    /// <param name="status">A status of <see cref="StatusLine"/>.</param>
    /// <param name="date">The Date line.</param>
    /// <param name="connectionLine">The Connection line, or nothing.</param>
    /// <param name="includesBody">Not for HEAD.</param>
    public static void Write(
        Connection connection,
        int status,
        ReadOnlySpan<byte> date,
        ReadOnlySpan<byte> connectionLine,
        bool includesBody)
    {
        // "404 Not Found\r\n" out of "HTTP/1.1 404 Not Found\r\n" is the body as well.
        ReadOnlySpan<byte> statusLine = StatusLine.Of(status);
        ReadOnlySpan<byte> body = statusLine["HTTP/1.1 ".Length..];

        Span<byte> room = connection.GetSpan(OwnBytesMax);
        var writer = new ResponseHeadWriter(room);
        writer.StatusLine(status);
        writer.Lines(date);
        writer.Lines(connectionLine);
        if (status == 503)
        {
            writer.Lines("Retry-After: 1\r\n"u8);
        }

        // What went wrong with one request says nothing about the next.
        writer.Lines("Cache-Control: no-store\r\n"u8);
        writer.Field("Content-Type"u8, "text/plain; charset=utf-8"u8);
        writer.ContentLength(body.Length);

        ResponseHeadResult result = writer.Finish(out int bytes);
        if (result != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The head of an answer of our own cannot be written: {result}.");
        }

        if (includesBody)
        {
            body.CopyTo(room[bytes..]);
            bytes += body.Length;
        }

        connection.Advance(bytes);
    }
}
