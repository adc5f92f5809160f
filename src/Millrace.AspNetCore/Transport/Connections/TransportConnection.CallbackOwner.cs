using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine.Diagnostics;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>
/// The application's code on the reactor: which request it belongs to, how it leaves, and how a wait that cannot end is broken.
/// </content>
internal sealed partial class TransportConnection : ICallbackOwner, IReactorAffinity
{
    /// <summary>Null where the application runs on the thread pool.</summary>
    private readonly ReactorScheduler? _scheduler;
    private readonly ReactorPipeReader? _input;
    private readonly NonBlockingFlushPipeWriter? _output;

    /// <summary>Whether received bytes are being copied into the pipe; no application code runs meanwhile.</summary>
    private volatile bool _isCopyingInput;
    private volatile IFeatureCollection? _request;
    private volatile string? _requestMethod;

    /// <summary>The callback in which the application was last seen to block. The watchdog's thread.</summary>
    private long _blockedCallback;

    OwnerWait ICallbackOwner.Wait =>
        (OwnerWait)Math.Max((int)(_input?.Wait ?? OwnerWait.None), (int)(_output?.Wait ?? OwnerWait.None));

    /// <summary>
    /// Notes the current request; with HTTP/1.1 its features are the same object for all requests of a connection. Reactor thread.
    /// </summary>
    public void NoteRequest(HttpContext context)
    {
        IFeatureCollection features = context.Features;
        if (_request != features)
        {
            _request = features;
        }

        _requestMethod = context.Request.Method;

        if (!_areRequestsPrefetched)
        {
            PrefetchRequests(context);
        }
    }

    bool ICallbackOwner.BeginHoldUp() =>
        _settings.Endpoints is { } endpoints && endpoints.Of(RunningEndpoint()).BeginStall(endpoints.NowMs);

    /// <summary>The watchdog's thread.</summary>
    void ICallbackOwner.NoteBlocked(long callback, long blockedMs)
    {
        if (_settings.Endpoints is { } endpoints)
        {
            bool isNew = callback != _blockedCallback;
            _blockedCallback = callback;
            string name = NameRequest() ?? "a connection";
            endpoints.NoteBlocked(_reactor.Index, RunningEndpoint(), name, isNew, blockedMs);
        }
    }

    /// <summary>
    /// Whether a request must leave the reactor before it runs. With a synchronization context, a request stays on the reactor to wait for
    /// its body, unless the server allows synchronous I/O. Reactor thread; the request is about to begin.
    /// </summary>
    public bool MustLeave(HttpContext context) =>
        EarlyLeave.MustLeave(context, Transport.Input, staysForBody: _scheduler?.Context is not null);

    string ICallbackOwner.Describe()
    {
        string? name = NameRequest();
        return name is null ? $"connection {ConnectionId}" : $"{name} (connection {ConnectionId})";
    }

    private string? NameRequest() => ReadRequest(request => RequestName.Of(request, _requestMethod));

    private Endpoint? RunningEndpoint() => ReadRequest(static request => request.Get<IEndpointFeature>()?.Endpoint);

    private T? ReadRequest<T>(Func<IFeatureCollection, T?> read)
        where T : class
    {
        try
        {
            return _request is { } request ? read(request) : null;
        }
#pragma warning disable CA1031 // The features may be the application's own, and are not thread-safe.
        catch (Exception)
#pragma warning restore CA1031
        {
            return null;
        }
    }

    void ICallbackOwner.Relieve() => _output?.Relieve();

    void ICallbackOwner.Fail(long heldUpMs)
    {
        string reason = $"has blocked its reactor for {heldUpMs} ms, apparently on a read or a write that only this reactor can "
            + "complete. Await it, or run the endpoint on the thread pool with [RunOffReactor] or 'await context.LeaveReactor()'.";
        string message = $"The request {reason}";
        // Described while it still waits: once released, the handler ends, and the request's name is lost.
        string owner = ((ICallbackOwner)this).Describe();
        var aborted = new ConnectionAbortedException(message);
        BeginEnd(EndKind.Reset, aborted);
        // Wrapped, as the inner exception is a cancellation: a blocked wait on a canceled task reports only that it was canceled.
        var error = new InvalidOperationException(message, aborted);

        // The blocked reactor cannot complete the pipe. The process-wide barrier orders the end (set above) before the read of
        // _isCopyingInput for both threads: if the reactor has resumed and is about to copy input into the pipe, which must not be
        // completed then, it sees the end.
        Interlocked.MemoryBarrierProcessWide();
        if (!_isCopyingInput)
        {
            _received.Complete(error);
        }

        _output?.Break();
        BeginReportClosed();
        _log.ReactorWaitFailed(ConnectionId, owner, reason);
    }

    void IReactorAffinity.Leave() => _scheduler?.IsAway = true;

    void IReactorAffinity.Return() => _scheduler?.IsAway = false;
}
