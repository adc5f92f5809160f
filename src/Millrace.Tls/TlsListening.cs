using System.Net;
using Millrace.Engine;
using Millrace.Engine.Listening;

namespace Millrace.Tls;

/// <summary>TLS for the listeners of a group.</summary>
public static class TlsListening
{
    /// <summary>
    /// As <see cref="ReactorGroup.ListenAsync(EndPoint, ConnectionHandler, ConnectionHandler?)"/>, with TLS in between: a handler is run
    /// when the handshake is done, reads and writes plain bytes, and finds what was agreed on in <see cref="GetTlsSession"/>.
    /// </summary>
    /// <exception cref="EngineException">The address cannot be had; the message says why.</exception>
    /// <exception cref="ObjectDisposedException">The group was stopped.</exception>
    public static Task<Listener> ListenTlsAsync(
        this ReactorGroup group, EndPoint endPoint, TlsTerminator terminator, ConnectionHandler handler, ConnectionHandler? refusal = null)
    {
        ArgumentNullException.ThrowIfNull(group);
        ArgumentNullException.ThrowIfNull(terminator);
        return group.ListenAsync(endPoint, handler, terminator.StagesOf, refusal);
    }

    /// <summary>The same on an address that is bound already, with the terminator that is there when a connection comes.</summary>
    internal static Task<Listener> ListenTlsAsync(
        this ReactorGroup group,
        BoundAddress bound,
        Func<TlsTerminator> terminator,
        ConnectionHandler handler,
        ConnectionHandler? refusal) =>
        group.ListenAsync(bound, handler, connection => terminator().StagesOf(connection), refusal);

    /// <summary>What was agreed on; null for a connection without TLS. Reactor thread.</summary>
    public static TlsSession? GetTlsSession(this Connection connection)
    {
        ArgumentNullException.ThrowIfNull(connection);
        return connection.FindStage<TlsStage>()?.DescribeSession();
    }

    /// <summary>What was agreed on by ALPN, at no cost; null for a client that offers nothing, or without TLS. Reactor thread.</summary>
    public static string? GetApplicationProtocol(this Connection connection)
    {
        ArgumentNullException.ThrowIfNull(connection);
        return connection.FindStage<TlsStage>()?.ApplicationProtocol;
    }
}
