using Millrace.AspNetCore.Connecting;

namespace Microsoft.AspNetCore.Connections;

/// <summary>Adapts connections for client libraries.</summary>
public static class ConnectionContextExtensions
{
    /// <summary>
    /// The connection as a stream that closes the connection when it is disposed; for example for the <c>ConnectCallback</c> of a
    /// <see cref="System.Net.Http.SocketsHttpHandler"/>:
    /// <code>
    /// ConnectCallback = async (context, cancellation) =>
    ///     (await connections.ConnectAsync(context.DnsEndPoint, cancellation)).AsStream()
    /// </code>
    /// </summary>
    /// <remarks>
    /// Supports one read and one write at a time. Over a Millrace connection, asynchronous waits end on its reactor (with
    /// <see cref="Millrace.AspNetCore.TransportScheduling.Inline"/>); synchronous reads and writes block, and must not run on reactors. A
    /// broken connection throws <see cref="IOException"/>.
    /// </remarks>
    public static Stream AsStream(this ConnectionContext connection)
    {
        ArgumentNullException.ThrowIfNull(connection);
        return new ConnectionStream(connection);
    }
}
