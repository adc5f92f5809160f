using System.Net.Sockets;
using Microsoft.AspNetCore.Connections.Features;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>The socket, for code that needs more than its bytes.</content>
internal sealed partial class TransportConnection : IConnectionSocketFeature
{
    private readonly ConnectionSocket _socket;

    Socket IConnectionSocketFeature.Socket => _socket.Get();
}
