using Millrace.Engine;
using Millrace.Http;
using Millrace.Web.Exchanges;
using Millrace.Web.Heads;

namespace Millrace.Web.Http1;

/// <summary>Errors that no plan decides on: refused heads, what cannot be opened now. With a line of text for people.</summary>
internal static class PlainAnswer
{
    /// <param name="connection">Whose output to write to.</param>
    /// <param name="status">A status of <see cref="StatusLine"/>.</param>
    /// <param name="date">The Date line.</param>
    /// <param name="connectionLine">The Connection line, or nothing.</param>
    /// <param name="includesBody">Not for HEAD.</param>
    /// <param name="exchange">Who is to know; null where nobody observes.</param>
    public static void Write(
        Connection connection,
        int status,
        ReadOnlySpan<byte> date,
        ReadOnlySpan<byte> connectionLine,
        bool includesBody,
        Exchange? exchange)
    {
        ReadOnlySpan<byte> body = PlainHead.BodyOf(status);
        Span<byte> room = connection.GetSpan(PlainHead.BytesMax + body.Length);
        var writer = new ResponseHeadWriter(room);
        PlainHead.Write(ref writer, status, date);
        writer.Lines(connectionLine);
        if (writer.Finish(out int bytes) != ResponseHeadResult.Ok)
        {
            throw new InvalidOperationException($"The head of an answer with {status} cannot be written.");
        }

        exchange?.Answer(status, includesBody ? ExchangeBody.Text : ExchangeBody.None);
        exchange?.BeginBody(connection.WrittenBytes + bytes);
        if (includesBody)
        {
            body.CopyTo(room[bytes..]);
            bytes += body.Length;
        }

        connection.Advance(bytes);
    }
}
