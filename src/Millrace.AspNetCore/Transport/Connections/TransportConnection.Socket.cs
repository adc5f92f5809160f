using System.Net.Sockets;
using Microsoft.AspNetCore.Connections.Features;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>The socket, for whoever needs more than bytes of it.</content>
internal sealed partial class TransportConnection : IConnectionSocketFeature
{
    private readonly ConnectionSocket _socket;

    Socket IConnectionSocketFeature.Socket => _socket.Get();
}
