using Millrace.AspNetCore.Safety;
using Millrace.Tls;
using Millrace.Tls.Handshakes;

namespace Millrace.AspNetCore.Transport;

/// <summary>
/// An endpoint's settings at the time it was bound; nobody changes the options any more. Without a terminator the transport moves bytes
/// unchanged. Each served connection takes a slot of the quota, if there is one.
/// </summary>
internal sealed record EndPointSettings(
    MillraceEndPointOptions Options, TlsTerminator? Terminator = null, ConnectionQuota? Quota = null, BlockingPolicies? Policies = null);
