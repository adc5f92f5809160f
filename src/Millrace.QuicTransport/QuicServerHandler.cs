using Millrace.Quic.Connections;
using Millrace.Quic.Streams;

namespace Millrace.QuicTransport;

/// <summary>
/// Serves one connection, from its completed handshake on: the HTTP/3 session, or a connection of Kestrel's transport. All calls come on
/// the connection's reactor. What is written to streams within a call is sent at the end of the iteration. What it throws closes the
/// connection with INTERNAL_ERROR.
/// </summary>
internal abstract class QuicServerHandler : IQuicConnectionHandler
{
    /// <inheritdoc/>
    public abstract void OnHandshakeComplete(QuicConnection connection);

    /// <inheritdoc/>
    public abstract void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events);

    /// <inheritdoc/>
    public virtual void OnStreamsAvailable(QuicConnection connection)
    {
    }

    /// <summary>Never called: tokens are a server's to give.</summary>
    public void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token)
    {
    }

    /// <inheritdoc/>
    public abstract void OnClosed(QuicConnection connection, in CloseReason reason);

    /// <summary>The time of <see cref="QuicTransportConnection.SetDeadline"/> has come; it is not set any more.</summary>
    public virtual void OnDeadline()
    {
    }

    /// <summary>
    /// The listener stops: what is in progress may end, and then the handler closes the connection. It is closed at the deadline in any
    /// case. At most once; not after <see cref="OnClosed"/>.
    /// </summary>
    public abstract void BeginDrain();
}
