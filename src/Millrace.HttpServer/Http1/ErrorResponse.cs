using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using Millrace.HttpServer.Heads;

namespace Millrace.HttpServer.Http1;

/// <summary>
/// Writes errors that no plan decides on, such as refused heads and files that cannot be opened, with a line of plain text.
/// </summary>
internal static class ErrorResponse
{
    /// <param name="connection">The connection whose output is written to.</param>
    /// <param name="status">A status of <see cref="StatusLine"/>.</param>
    /// <param name="date">The Date line.</param>
    /// <param name="connectionLine">The Connection line, or empty.</param>
    /// <param name="includesBody">False for HEAD.</param>
    /// <param name="exchange">The record to update; null if there is no observer.</param>
    public static void Write(
        Connection connection,
        int status,
        ReadOnlySpan<byte> date,
        ReadOnlySpan<byte> connectionLine,
        bool includesBody,
        HttpExchange? exchange)
    {
        ReadOnlySpan<byte> body = ErrorHead.BodyOf(status);
        Span<byte> room = connection.GetSpan(ErrorHead.BytesMax + body.Length);
        var writer = new ResponseHeadWriter(room);
        ErrorHead.Write(ref writer, status, date);
        writer.Lines(connectionLine);
        if (writer.Finish(out int bytes) != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The response head for status {status} cannot be written.");
        }

        exchange?.SetResponse(status, includesBody ? ResponseBodySource.Text : ResponseBodySource.None);
        exchange?.BeginBody(connection.WrittenBytes + bytes);
        if (includesBody)
        {
            body.CopyTo(room[bytes..]);
            bytes += body.Length;
        }

        connection.Advance(bytes);
    }
}
