using System.Net;
using Millrace.Engine;

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

    /// <summary>Whether a connection came by TLS. Reactor thread.</summary>
    internal static bool IsTls(this Connection connection) => connection.FindStage<TlsStage>() is not null;

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
