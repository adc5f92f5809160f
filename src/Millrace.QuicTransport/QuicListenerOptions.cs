using Millrace.Engine;
using Millrace.Quic.Connections;
using Millrace.Quic.Protection;

namespace Millrace.QuicTransport;

/// <summary>What a <see cref="QuicListener"/> needs of the layers above and below it. Immutable; the functions run on reactors.</summary>
internal sealed record QuicListenerOptions
{
    /// <summary>H3_NO_ERROR (RFC 9114, section 8.1).</summary>
    private const long Http3NoError = 0x100;

    public QuicSettings Settings { get; init; } = QuicSettings.Default;

    /// <summary>For each reactor; of the handshakes in progress for all together, as each gets its part of them.</summary>
    public EndpointLimits Limits { get; init; } = new();

    /// <summary>
    /// Called once for each reactor, on its thread. If the result is disposable it is disposed of there when the listener has stopped. The
    /// keys of tokens must be the same on all reactors.
    /// </summary>
    public required Func<Reactor, QuicCryptography> CreateCryptography { get; init; }

    /// <summary>
    /// The handshake of a new connection, whose <see cref="QuicTransportConnection.Connection"/> does not exist yet; null to refuse it.
    /// </summary>
    public required Func<QuicServerConnection, QuicHandshake?> CreateHandshake { get; init; }

    /// <summary>
    /// Serves a connection. Called when the handshake is complete, directly before
    /// <see cref="IQuicConnectionHandler.OnHandshakeComplete"/>: a client that does not complete it costs no handler.
    /// </summary>
    public required Func<QuicServerConnection, QuicServerHandler> CreateHandler { get; init; }

    /// <summary>
    /// Called at the end of each connection, after its handler, with its smoothed round-trip time in nanoseconds, if any was measured. What
    /// it throws is logged. Any reactor's thread.
    /// </summary>
    public Action<long>? OnRoundTripTime { get; init; }

    /// <summary>The application's code with which connections are closed at the deadline of a stop.</summary>
    public long StopCode { get; init; } = Http3NoError;
}
