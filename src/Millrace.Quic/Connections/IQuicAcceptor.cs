using System.Diagnostics.CodeAnalysis;
using Millrace.Quic.Protection;

namespace Millrace.Quic.Connections;

/// <summary>What a server's endpoint asks of the layer above for each new connection.</summary>
internal interface IQuicAcceptor
{
    /// <summary>False: refuse it (CONNECTION_REFUSED), as when the server stops.</summary>
    bool TryAccept(
        in PathAddress client, in PathAddress local, [NotNullWhen(true)] out QuicHandshake? handshake,
        [NotNullWhen(true)] out IQuicConnectionHandler? handler);
}
