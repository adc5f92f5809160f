using System.Net;
using Millrace.Engine;
using Millrace.Tls.Certificates;

namespace Millrace.Tls;

/// <summary>TLS for the listeners of a group.</summary>
public static class TlsListening
{
    /// <summary>
    /// As <see cref="ReactorGroup.ListenAsync(EndPoint, ConnectionHandler, ConnectionHandler?)"/>, with TLS: a handler runs after the
    /// handshake, reads and writes plain bytes, and finds the negotiated parameters in <see cref="GetTlsSession"/>.
    /// </summary>
    /// <exception cref="EngineException">The address is not available; the message says why.</exception>
    /// <exception cref="ObjectDisposedException">The group was stopped.</exception>
    public static Task<Listener> ListenTlsAsync(
        this ReactorGroup group, EndPoint endPoint, TlsTerminator terminator, ConnectionHandler handler, ConnectionHandler? refusal = null)
    {
        ArgumentNullException.ThrowIfNull(group);
        ArgumentNullException.ThrowIfNull(terminator);
        return group.ListenAsync(endPoint, handler, terminator.FiltersOf, refusal);
    }

    internal static bool IsTls(this Connection connection) => connection.Filters.Find<TlsFilter>() is not null;

    /// <summary>The hosts of a connection's certificate; null without TLS. Reactor thread.</summary>
    internal static CertificateNames? GetCertificateNames(this Connection connection) =>
        connection.Filters.Find<TlsServerFilter>()?.CertificateNames;

    /// <summary>What the handshake agreed on, at no cost; null before its end, and without TLS. Reactor thread.</summary>
    internal static TlsParameters? GetTlsParameters(this Connection connection) => connection.Filters.Find<TlsFilter>()?.Parameters;

    /// <summary>The negotiated parameters; null for a connection without TLS. Reactor thread.</summary>
    public static TlsSession? GetTlsSession(this Connection connection)
    {
        ArgumentNullException.ThrowIfNull(connection);
        return connection.Filters.Find<TlsFilter>()?.DescribeSession();
    }

    /// <summary>The protocol negotiated by ALPN, at no cost; null for a client without ALPN, or without TLS. Reactor thread.</summary>
    public static string? GetApplicationProtocol(this Connection connection)
    {
        ArgumentNullException.ThrowIfNull(connection);
        return connection.Filters.Find<TlsFilter>()?.ApplicationProtocol;
    }
}
