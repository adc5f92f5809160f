using Millrace.Engine;
using Millrace.Web.Http1;

namespace Millrace.Web.Bodies;

/// <summary>
/// A file that the disk does not give (EIO, a network file system that is gone). Nothing of its answer has gone out yet, so it becomes a
/// 500; later a reset is all that can be said.
/// </summary>
internal static class UnreadableBody
{
    /// <summary>Takes the head back, which stands last, and answers instead of it. False: the connection ends behind it.</summary>
    public static bool Answer(Connection connection, SentHead head)
    {
        connection.Retract(head.Bytes);

        // Without a Date, which an error of the server's may lack (RFC 9110, section 6.6.1).
        PlainAnswer.Write(connection, 500, date: default, "Connection: close\r\n"u8, includesBody: true, head.Exchange);
        return false;
    }
}
