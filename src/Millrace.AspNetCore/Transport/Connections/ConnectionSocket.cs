using System.Net.Sockets;
using Millrace.Interop.Sockets;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// The engine's socket as a <see cref="Socket"/>, created on demand for socket options and peer credentials. It owns a duplicate
/// descriptor, so that it never refers to a later connection that reuses the engine's number. The engine disposes of it before it closes
/// its own descriptor: the peer sees the end when the last descriptor closes. Any thread.
/// </summary>
internal sealed class ConnectionSocket(int descriptor) : IDisposable
{
    private Socket? _socket;
    private bool _isRefused;

    /// <exception cref="ObjectDisposedException">The connection has ended.</exception>
    /// <exception cref="SocketException">No descriptor is available.</exception>
    public Socket Get()
    {
        lock (this)
        {
            ObjectDisposedException.ThrowIf(_isRefused, typeof(Socket));
            return _socket ??= Duplicate();
        }
    }

    /// <summary>
    /// Refuses further <see cref="Get"/> calls. A caller that has the socket keeps it while the engine ends the connection: disposing of it
    /// during one of the caller's operations would reset the connection.
    /// </summary>
    public void Refuse()
    {
        lock (this)
        {
            _isRefused = true;
        }
    }

    public void Dispose()
    {
        Refuse();
        _socket?.Dispose();
    }

    private Socket Duplicate()
    {
        int own = SocketCalls.Duplicate(descriptor);
        return own >= 0
            ? new Socket(new SafeSocketHandle(own, ownsHandle: true))
            : throw new SocketException((int)SocketError.TooManyOpenSockets);
    }
}
