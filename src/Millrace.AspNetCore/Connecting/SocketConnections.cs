using System.Net;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using Microsoft.Extensions.Logging;

namespace Millrace.AspNetCore.Connecting;

/// <summary>Connects with the sockets transport where no reactors are available. Any thread.</summary>
internal sealed class SocketConnections(ILogger logger) : IDisposable
{
    private readonly SocketConnectionContextFactory _contexts = new(new SocketConnectionFactoryOptions(), logger);

    /// <exception cref="SocketException">The connection failed.</exception>
    public async ValueTask<ConnectionContext> ConnectAsync(EndPoint endPoint, CancellationToken cancellation)
    {
        bool isUnix = endPoint is UnixDomainSocketEndPoint;
        var socket = new Socket(endPoint.AddressFamily, SocketType.Stream, isUnix ? ProtocolType.Unspecified : ProtocolType.Tcp);
        try
        {
            socket.NoDelay = !isUnix;
            await socket.ConnectAsync(endPoint, cancellation);
            return _contexts.Create(socket);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    public void Dispose() => _contexts.Dispose();
}
