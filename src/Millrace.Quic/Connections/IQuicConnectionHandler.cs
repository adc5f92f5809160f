using Millrace.Quic.Streams;

namespace Millrace.Quic.Connections;

/// <summary>How a connection ended.</summary>
internal enum CloseSource : byte
{
    /// <summary>The application of this end closed it.</summary>
    Local,

    /// <summary>This end found an error of the peer, or an inner one.</summary>
    LocalError,

    /// <summary>The peer sent CONNECTION_CLOSE.</summary>
    Peer,

    /// <summary>The peer lost its state, and sent a stateless reset.</summary>
    StatelessReset,

    /// <summary>Nothing was received for the idle timeout, or the handshake took too long.</summary>
    Timeout,

    /// <summary>A client and a server have no version in common.</summary>
    NoVersion,

    /// <summary>The peer's address could not be validated after a migration, and there is none to return to.</summary>
    NoPath,
}

/// <summary>
/// Why a connection ended: for logs, and for the layer above. A code of the application if <paramref name="IsApplication"/>.
/// </summary>
internal readonly record struct CloseReason(CloseSource Source, bool IsApplication, long Code, long FrameType, string Phrase);

/// <summary>
/// The layer above a connection, HTTP/3. It is called at the end of <see cref="QuicConnection.Receive"/> and
/// <see cref="QuicConnection.OnTimeout"/>, and may open, write, read and close within the call; it must not call these two.
/// </summary>
internal interface IQuicConnectionHandler
{
    /// <summary>The handshake is complete: streams may be opened.</summary>
    void OnHandshakeComplete(QuicConnection connection);

    /// <summary>Something happened to a stream. After <see cref="StreamEvents.Closed"/> the stream must not be used.</summary>
    void OnStream(QuicConnection connection, QuicStream stream, StreamEvents events);

    /// <summary>The peer allows more streams, after one could not be opened.</summary>
    void OnStreamsAvailable(QuicConnection connection);

    /// <summary>A client received a token for its next connection to this server.</summary>
    void OnNewToken(QuicConnection connection, ReadOnlySpan<byte> token);

    /// <summary>
    /// The last call: the connection is over, and all its streams with it. They still say how much was sent; nothing else of them is of
    /// use.
    /// </summary>
    void OnClosed(QuicConnection connection, in CloseReason reason);
}
