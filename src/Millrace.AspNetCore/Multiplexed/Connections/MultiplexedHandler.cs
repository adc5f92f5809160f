using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.QuicTransport;

namespace Millrace.AspNetCore.Multiplexed.Connections;

/// <summary>Passes a QUIC connection's events on to the one that Kestrel sees. Reactor thread.</summary>
internal sealed class MultiplexedHandler(MultiplexedConnection connection, Action<MultiplexedConnection> accept) : QuicServerHandler
{
    public override void OnHandshakeComplete(QuicConnection quic) => accept(connection);

    public override void OnStream(QuicConnection quic, QuicStream stream, StreamEvents events) => connection.OnStream(stream, events);

    public override void OnStreamsAvailable(QuicConnection quic) => connection.OnStreamsAvailable();

    public override void OnClosed(QuicConnection quic, in CloseReason reason) => connection.OnClosed(reason);

    /// <summary>Kestrel asks its connections to end itself, and closes them.</summary>
    public override void BeginDrain()
    {
    }
}
