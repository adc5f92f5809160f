using System.Net.Sockets;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// The engine's socket as a <see cref="Socket"/>, made when somebody asks: for options and peer credentials. The descriptor stays the
/// engine's; after the connection's end the object refuses, as the number may be another's by then. Any thread.
/// </summary>
internal sealed class ConnectionSocket(int descriptor) : IDisposable
{
    private Socket? _socket;
    private bool _isDisposed;

    /// <exception cref="ObjectDisposedException">The connection has ended.</exception>
    public Socket Get()
    {
        lock (this)
        {
            ObjectDisposedException.ThrowIf(_isDisposed, typeof(Socket));
            return _socket ??= new Socket(new SafeSocketHandle(descriptor, ownsHandle: false));
        }
    }

    public void Dispose()
    {
        lock (this)
        {
            _isDisposed = true;
            _socket?.Dispose();
        }
    }
}
