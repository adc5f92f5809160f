using Millrace.Engine;
using Millrace.Http;

namespace Millrace.Web.Http1;

/// <summary>Answers without an asset: errors and redirects, with a line of text for people.</summary>
internal static class PlainAnswer
{
    /// <summary>Bytes besides the values of the caller: status lines, names and the body are all short.</summary>
    private const int OwnBytesMax = 512;

    /// <param name="connection">Whose output to write to.</param>
    /// <param name="status">A status of <see cref="StatusLine"/>.</param>
    /// <param name="date">The Date line.</param>
    /// <param name="connectionLine">The Connection line, or nothing.</param>
    /// <param name="includesBody">Not for HEAD.</param>
    /// <param name="name">One more field, or nothing.</param>
    /// <param name="value">Its value.</param>
    public static void Write(
        Connection connection,
        int status,
        ReadOnlySpan<byte> date,
        ReadOnlySpan<byte> connectionLine,
        bool includesBody,
        ReadOnlySpan<byte> name = default,
        ReadOnlySpan<byte> value = default)
    {
        // "404 Not Found\r\n" out of "HTTP/1.1 404 Not Found\r\n" is the body as well.
        ReadOnlySpan<byte> statusLine = StatusLine.Of(status);
        ReadOnlySpan<byte> body = statusLine["HTTP/1.1 ".Length..];

        Span<byte> room = connection.GetSpan(OwnBytesMax + name.Length + value.Length);
        var writer = new ResponseHeadWriter(room);
        writer.StatusLine(status);
        writer.Lines(date);
        writer.Lines(connectionLine);
        if (!name.IsEmpty)
        {
            writer.Field(name, value);
        }

        if (status != 204)
        {
            writer.Field("Content-Type"u8, "text/plain; charset=utf-8"u8);
            writer.ContentLength(body.Length);
        }

        ResponseHeadResult result = writer.Finish(out int bytes);
        if (result != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The head of an answer of our own cannot be written: {result}.");
        }

        if (includesBody && status != 204)
        {
            body.CopyTo(room[bytes..]);
            bytes += body.Length;
        }

        connection.Advance(bytes);
    }
}
