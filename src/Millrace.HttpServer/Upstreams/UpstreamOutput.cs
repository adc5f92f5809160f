using Millrace.Engine;
using Millrace.HttpServer.Bodies;

namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// Writes parts of a request to a connection, to be sent at the end of the reactor's iteration. False without memory for it: then a part of
/// it may be written, and the connection is of no more use. Reactor thread only.
/// </summary>
internal static class UpstreamOutput
{
    public static UpstreamFailure NoMemory => new(503, "there is no memory for the request");

    public static bool TryWriteHead(Connection connection, UpstreamRequestCopy request, ReadOnlySpan<byte> authority)
    {
        try
        {
            request.WriteTo(connection, authority);
            connection.Flush();
            return true;
        }
        catch (InsufficientMemoryException)
        {
            return false;
        }
    }

    public static bool TryWriteBody(Connection connection, ReadOnlySpan<byte> bytes, bool isChunked)
    {
        try
        {
            if (isChunked)
            {
                Chunk.Write(connection, bytes);
            }
            else
            {
                connection.Write(bytes);
            }

            connection.Flush();
            return true;
        }
        catch (InsufficientMemoryException)
        {
            return false;
        }
    }

    /// <summary>Ends a chunked body.</summary>
    public static bool TryEndBody(Connection connection, ReadOnlySpan<byte> trailerLines)
    {
        try
        {
            Chunk.End(connection, trailerLines);
            connection.Flush();
            return true;
        }
        catch (InsufficientMemoryException)
        {
            return false;
        }
    }
}
