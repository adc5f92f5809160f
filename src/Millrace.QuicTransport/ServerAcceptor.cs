using System.Diagnostics.CodeAnalysis;
using Millrace.Quic.Connections;
using Millrace.Quic.Protection;

namespace Millrace.QuicTransport;

/// <summary>Makes the connections that a listener's endpoint accepts on one reactor. Reactor thread.</summary>
internal sealed class ServerAcceptor(QuicReactor owner, QuicListenerOptions options) : IQuicAcceptor
{
    private QuicServerConnection? _accepted;

    public bool TryAccept(
        in PathAddress client, in PathAddress local, [NotNullWhen(true)] out QuicHandshake? handshake,
        [NotNullWhen(true)] out IQuicConnectionHandler? handler)
    {
        handshake = null;
        handler = null;

        // Where memory is short it is for the requests of those that are connected already.
        if (owner.IsStopping || owner.Reactor.IsOverloaded)
        {
            return false;
        }

        QuicServerConnection connection = new(owner, options, client, local);
        if (!connection.TryBegin())
        {
            return false;
        }

        _accepted = connection;
        handshake = connection.Handshake;
        handler = connection;
        return true;
    }

    /// <summary>The connection that the last datagram has begun; null if it has begun none.</summary>
    public QuicServerConnection? TakeAccepted()
    {
        QuicServerConnection? accepted = _accepted;
        _accepted = null;
        return accepted;
    }
}
