using Millrace.Engine;
using Millrace.Http;
using Millrace.HttpServer.Bodies;

namespace Millrace.HttpServer.Upstreams;

/// <summary>
/// Writes parts of a request to a connection, to be sent at the end of the reactor's iteration. False without memory for it: then a part of
/// it may be written, and the connection is of no more use. Reactor thread only.
/// </summary>
internal static class UpstreamOutput
{
    public static UpstreamFailure NoMemory => new(503, "there is no memory for the request");

    public static bool TryWriteHead(Connection connection, UpstreamRequestCopy request, ReadOnlySpan<byte> authority) =>
        TryWrite(connection, request, authority, static (connection, request, authority) => request.WriteTo(connection, authority));

    /// <summary>Writes bytes of a request's body, or of a tunnel, for which there is no request. Returns why that fails.</summary>
    public static UpstreamFailure? WriteBody(Connection connection, ReadOnlySpan<byte> bytes, UpstreamRequestCopy? request)
    {
        if (request is not null && !request.TryCountBody(bytes.Length))
        {
            // Sessions check it before.
            return new UpstreamFailure(502, "the request's body is longer than its length");
        }

        bool isWritten = request?.Body == BodyFraming.Chunked
            ? TryWrite(connection, 0, bytes, static (connection, _, bytes) => Chunk.Write(connection, bytes))
            : TryWrite(connection, 0, bytes, static (connection, _, bytes) => connection.Write(bytes));
        return isWritten ? null : NoMemory;
    }

    /// <summary>Ends a chunked body.</summary>
    public static bool TryEndBody(Connection connection, ReadOnlySpan<byte> trailerLines) =>
        TryWrite(connection, 0, trailerLines, static (connection, _, lines) => Chunk.End(connection, lines));

    private static bool TryWrite<T>(
        Connection connection, T state, ReadOnlySpan<byte> bytes, Action<Connection, T, ReadOnlySpan<byte>> write)
    {
        try
        {
            write(connection, state, bytes);
            connection.Flush();
            return true;
        }
        catch (InsufficientMemoryException)
        {
            return false;
        }
    }
}
