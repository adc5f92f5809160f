using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine.Diagnostics;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// A connection's application on its reactor: which request runs, how it leaves, and how a wait that cannot end is broken. The request is
/// written by the reactor's thread and read by the watchdog's, which calls the members of <see cref="ICallbackOwner"/>.
/// </summary>
internal sealed class CallbackOwner(
    TransportConnection connection,
    ReactorScheduler scheduler,
    ReactorPipeReader reader,
    NonBlockingFlushPipeWriter writer,
    InputPump input,
    TransportEnding ending,
    RequestPrefetch prefetch,
    BlockingPolicies? policies,
    TransportLog log) : ICallbackOwner
{
    private volatile IFeatureCollection? _request;
    private volatile string? _requestMethod;

    /// <summary>The callback in which the application was last seen to block. The watchdog's thread.</summary>
    private long _blockedCallback;

    /// <summary>Decides where the application's awaits resume. Any thread.</summary>
    public ReactorScheduler Scheduler => scheduler;

    OwnerWait ICallbackOwner.Wait => (OwnerWait)Math.Max((int)reader.Wait, (int)writer.Wait);

    /// <summary>
    /// A request's name in logs: the endpoint's display name if routing has chosen one, else method and path; null between two requests.
    /// Reads only references from the features, as it runs on another thread than the request. The method is a parameter: Kestrel creates
    /// and caches its string on first use, and a read between two requests would give the next one the wrong method.
    /// </summary>
    public static string? NameOf(IFeatureCollection features, string? method)
    {
        if (features.Get<IEndpointFeature>()?.Endpoint?.DisplayName is { } name)
        {
            return name;
        }

        return features.Get<IHttpRequestFeature>()?.Path is { } path ? $"{method} {path}" : null;
    }

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
        prefetch.Note(context);
    }

    /// <summary>
    /// Whether a request must leave the reactor before it runs. With a synchronization context, a request stays on the reactor to wait for
    /// its body, unless the server allows synchronous I/O. Reactor thread; the request is about to begin.
    /// </summary>
    public bool MustLeave(HttpContext context) =>
        EarlyLeave.MustLeave(context, connection.Transport.Input, staysForBody: scheduler.Context is not null);

    bool ICallbackOwner.BeginStall() => policies?.BeginStall(RunningEndpoint()) == true;

    void ICallbackOwner.NoteBlocked(long callback, long blockedMs)
    {
        bool isNew = callback != _blockedCallback;
        _blockedCallback = callback;
        policies?.NoteBlocked(RunningEndpoint(), NameRequest() ?? "a connection", isNew, blockedMs);
    }

    string ICallbackOwner.Describe() => Describe();

    void ICallbackOwner.Relieve() => writer.Relieve();

    void ICallbackOwner.Fail(long stalledMs)
    {
        string reason = $"has blocked its reactor for {stalledMs} ms, apparently on a read or a write that only this reactor can "
            + "complete. Await it, or run the endpoint on the thread pool with [RunOffReactor] or 'await context.LeaveReactor()'.";
        string message = $"The request {reason}";
        // Described while it still waits: once released, the handler ends, and the request's name is lost.
        string owner = Describe();
        var aborted = new ConnectionAbortedException(message);
        ending.Begin(EndKind.Reset, aborted);
        // Wrapped, as the inner exception is a cancellation: a blocked wait on a canceled task reports only that it was canceled.
        input.Break(new InvalidOperationException(message, aborted));
        writer.Break();
        ending.BeginReportClosed();
        log.ReactorWaitFailed(connection.ConnectionId, owner, reason);
    }

    private string Describe()
    {
        string? name = NameRequest();
        return name is null ? $"connection {connection.ConnectionId}" : $"{name} (connection {connection.ConnectionId})";
    }

    private string? NameRequest() => ReadRequest(request => NameOf(request, _requestMethod));

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
}
