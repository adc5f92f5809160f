using Millrace.AspNetCore.Safety;
using Millrace.Tls;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Transport;

/// <summary>
/// An endpoint's settings at the time it was bound. A buffer limit of 0 bytes means no limit; without a terminator the transport moves
/// bytes unchanged. Each served connection takes a slot of the quota, if there is one.
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
    ConnectionQuota? Quota = null,
    BlockingPolicies? Policies = null);
