using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Features;

namespace Millrace.AspNetCore.Multiplexed.Connections;

/// <summary>
/// Listens to nothing: an endpoint on which HTTP/3 cannot be served. Kestrel would not start without a listener, and its other protocols
/// are served there. Any thread.
/// </summary>
internal sealed class IdleListener(EndPoint endPoint) : IMultiplexedConnectionListener
{
    private readonly TaskCompletionSource<MultiplexedConnectionContext?> _end = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public EndPoint EndPoint => endPoint;

    public ValueTask<MultiplexedConnectionContext?> AcceptAsync(
        IFeatureCollection? features = null, CancellationToken cancellationToken = default) =>
        new(_end.Task.WaitAsync(cancellationToken));

    public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        _end.TrySetResult(null);
        return default;
    }

    public ValueTask DisposeAsync() => UnbindAsync(CancellationToken.None);
}
