using Millrace.AspNetCore.Connecting;

namespace Microsoft.AspNetCore.Connections;

/// <summary>Turns connections into what client libraries take.</summary>
public static class ConnectionContextExtensions
{
    /// <summary>
    /// The connection as a stream, which ends it when it is disposed; for the <c>ConnectCallback</c> of a
    /// <see cref="System.Net.Http.SocketsHttpHandler"/>, say:
    /// <code>
    /// ConnectCallback = async (context, cancellation) =>
    ///     (await connections.ConnectAsync(context.DnsEndPoint, cancellation)).AsStream()
    /// </code>
    /// </summary>
    /// <remarks>
    /// One read and one write at a time. Over a connection of Millrace's, waits end on its reactor (with
    /// <see cref="Millrace.AspNetCore.TransportScheduling.Inline"/>); its synchronous reads and writes block, and are not for reactors.
    /// A connection that broke is an <see cref="IOException"/>.
    /// </remarks>
    public static Stream AsStream(this ConnectionContext connection)
    {
        ArgumentNullException.ThrowIfNull(connection);
        return new ConnectionStream(connection);
    }
}
