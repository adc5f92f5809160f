using Millrace.Engine;
using Millrace.HttpServer.Http1;

namespace Millrace.HttpServer.Bodies;

/// <summary>
/// Answers 500 for a file that the disk cannot deliver (EIO, an unavailable network file system). This is possible only while nothing of
/// the response is sent; later the connection is reset.
/// </summary>
internal static class UnreadableFileBody
{
    /// <summary>
    /// Removes the head, which is the last output, and writes the error in its place. Returns false: the connection closes after it.
    /// </summary>
    public static bool Respond(Connection connection, UnflushedHead head)
    {
        connection.Retract(head.Bytes);

        // Without a Date, which a 5xx response may omit (RFC 9110, section 6.6.1).
        ErrorResponse.Write(connection, 500, date: default, "Connection: close\r\n"u8, includesBody: true, head.Exchange);
        return false;
    }
}
