using Microsoft.AspNetCore.Connections;

namespace Millrace.AspNetCore.Multiplexed.Connections;

/// <summary>
/// Opens streams of this end for Kestrel, which needs one for each connection. Those that the client does not allow yet wait. Asked on any
/// thread, done on the reactor's.
/// </summary>
internal sealed class OpenedStreams(MultiplexedConnection connection)
{
    private readonly Queue<Request> _waiting = new();
    private Exception? _end;

    public async Task<ConnectionContext> OpenAsync(bool isBidirectional, CancellationToken cancellation)
    {
        var request = new Request(this, isBidirectional);
        using CancellationTokenRegistration registration = cancellation.UnsafeRegister(
            static (request, cancellation) => ((Request)request!).Opened.TrySetCanceled(cancellation), request);
        connection.RunOnReactor(static request => ((Request)request!).Enter(), request);
        return await request.Opened.Task;
    }

    /// <summary>Reactor thread.</summary>
    public void Retry()
    {
        while (_waiting.TryPeek(out Request? request) && TryOpen(request))
        {
            _waiting.Dequeue();
        }
    }

    /// <summary>Reactor thread, or another one when the reactor has ended.</summary>
    public void End(Exception reason)
    {
        _end = reason;
        while (_waiting.TryDequeue(out Request? request))
        {
            request.Opened.TrySetException(reason);
        }
    }

    private void Enter(Request request) =>
        connection.Enter(static request => ((Request)request!).Owner.Begin((Request)request), request);

    private void Begin(Request request)
    {
        if (_end is not null)
        {
            request.Opened.TrySetException(_end);
        }
        else if (_waiting.Count > 0 || !TryOpen(request))
        {
            _waiting.Enqueue(request);
        }
    }

    /// <summary>False: the client allows none now.</summary>
    private bool TryOpen(Request request)
    {
        if (request.Opened.Task.IsCompleted)
        {
            // Nobody waits for it any more.
            return true;
        }

        if (connection.TryOpen(request.IsBidirectional) is not { } opened)
        {
            return false;
        }

        if (!request.Opened.TrySetResult(opened))
        {
            opened.Abort();
        }

        return true;
    }

    private sealed record Request(OpenedStreams Owner, bool IsBidirectional)
    {
        public TaskCompletionSource<ConnectionContext> Opened { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public void Enter() => Owner.Enter(this);
    }
}
