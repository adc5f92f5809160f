using System.Net.Sockets;
using Millrace.Interop.Sockets;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// The engine's socket as a <see cref="Socket"/>, made when somebody asks: for options and peer credentials. It has a descriptor of its
/// own, so that it never means another connection that has the engine's number by then. The engine disposes of it before it closes its
/// own: a peer learns of an end by the last one. Any thread.
/// </summary>
internal sealed class ConnectionSocket(int descriptor) : IDisposable
{
    private Socket? _socket;
    private bool _isRefused;

    /// <exception cref="ObjectDisposedException">The connection has ended.</exception>
    /// <exception cref="SocketException">There are no descriptors.</exception>
    public Socket Get()
    {
        lock (this)
        {
            ObjectDisposedException.ThrowIf(_isRefused, typeof(Socket));
            return _socket ??= Duplicate();
        }
    }

    /// <summary>
    /// Nobody gets it any more. Who has it keeps it for as long as the engine still ends the connection: to dispose of it where somebody is
    /// in a call of it would reset that.
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
