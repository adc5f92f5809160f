using System.Net;
using Millrace.QuicTransport;
using Millrace.Server.Serving;

namespace Millrace.Server.Http3;

/// <summary>
/// A listener of HTTP/3 of one address. While its connections end after a reload, a later reload can have it accept new ones again: its
/// port would not be free. Not thread-safe, except <see cref="Target"/>.
/// </summary>
internal sealed class Http3Listener(ListenEndpoint endpoint)
{
    private readonly List<Task> _stops = [];
    private QuicListener _listener = null!;
    private volatile ListenEndpoint _endpoint = endpoint;

    public IPEndPoint LocalEndPoint => _listener.LocalEndPoint;

    /// <summary>What new connections are led to.</summary>
    public EndpointTarget Target => _endpoint.Target;

    /// <summary>Completes when nothing of it waits for connections to end.</summary>
    public Task Stopped => Task.WhenAll(_stops);

    /// <summary>Called once, with what asks for <see cref="Target"/>.</summary>
    public void Attach(QuicListener listener) => _listener = listener;

    /// <summary>Refuses new connections; those that are open may end within this time.</summary>
    public void BeginStop(TimeSpan drain)
    {
        _stops.RemoveAll(static one => one.IsCompletedSuccessfully);
        _stops.Add(_listener.StopAsync(drain));
    }

    /// <summary>Accepts new connections for this endpoint; false if it closes or is closed.</summary>
    public bool TryResume(ListenEndpoint endpoint)
    {
        ListenEndpoint before = _endpoint;
        _endpoint = endpoint;
        if (_listener.TryResume())
        {
            return true;
        }

        _endpoint = before;
        return false;
    }
}
