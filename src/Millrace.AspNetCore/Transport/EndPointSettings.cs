using Millrace.Tls;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Transport;

/// <summary>
/// What one address was told, as it was when it was bound. A buffer of 0 bytes has no bound; without a terminator the transport moves
/// bytes as they are. Connections that are served take their places, if there are any.
/// </summary>
internal sealed record EndPointSettings(
    int Backlog,
    bool NoDelay,
    long ReadBufferBytesMax,
    long WriteBufferBytesMax,
    TransportScheduling Scheduling,
    bool UsesSynchronizationContext,
    bool FinOnError,
    TlsTerminator? Terminator = null,
    ConnectionPlaces? Places = null);
