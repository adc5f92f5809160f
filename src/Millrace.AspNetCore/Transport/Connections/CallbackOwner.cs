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
internal sealed class CallbackOwner : ICallbackOwner
{
    private readonly TransportConnection _connection;
    private readonly ReactorScheduler _scheduler;
    private readonly ReactorPipeReader _reader;
    private readonly NonBlockingFlushPipeWriter _writer;
    private readonly InputPump _input;
    private readonly ConnectionEnding _ending;
    private readonly RequestPrefetch _prefetch;
    private readonly EndpointStatisticsTable? _endpoints;
    private readonly TransportLog _log;
    private volatile IFeatureCollection? _request;
    private volatile string? _requestMethod;

    /// <summary>The callback in which the application was last seen to block. The watchdog's thread.</summary>
    private long _blockedCallback;

    public CallbackOwner(
        TransportConnection connection,
        ReactorScheduler scheduler,
        ReactorPipeReader reader,
        NonBlockingFlushPipeWriter writer,
        InputPump input,
        ConnectionEnding ending,
        RequestPrefetch prefetch,
        EndpointStatisticsTable? endpoints,
        TransportLog log)
    {
        _connection = connection;
        _scheduler = scheduler;
        _reader = reader;
        _writer = writer;
        _input = input;
        _ending = ending;
        _prefetch = prefetch;
        _endpoints = endpoints;
        _log = log;
        scheduler.Owner = this;
    }

    /// <summary>Whether the application has left the reactor: its awaits resume on the thread pool. Any thread.</summary>
    public bool IsAway
    {
        set => _scheduler.IsAway = value;
    }

    OwnerWait ICallbackOwner.Wait => (OwnerWait)Math.Max((int)_reader.Wait, (int)_writer.Wait);

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
        _prefetch.Note(context);
    }

    /// <summary>
    /// Whether a request must leave the reactor before it runs. With a synchronization context, a request stays on the reactor to wait for
    /// its body, unless the server allows synchronous I/O. Reactor thread; the request is about to begin.
    /// </summary>
    public bool MustLeave(HttpContext context) =>
        EarlyLeave.MustLeave(context, _connection.Transport.Input, staysForBody: _scheduler.Context is not null);

    bool ICallbackOwner.BeginHoldUp() => _endpoints?.Of(RunningEndpoint()).BeginStall(_endpoints.NowMs) == true;

    void ICallbackOwner.NoteBlocked(long callback, long blockedMs)
    {
        bool isNew = callback != _blockedCallback;
        _blockedCallback = callback;
        _endpoints?.NoteBlocked(_scheduler.Reactor.Index, RunningEndpoint(), NameRequest() ?? "a connection", isNew, blockedMs);
    }

    string ICallbackOwner.Describe() => Describe();

    void ICallbackOwner.Relieve() => _writer.Relieve();

    void ICallbackOwner.Fail(long heldUpMs)
    {
        string reason = $"has blocked its reactor for {heldUpMs} ms, apparently on a read or a write that only this reactor can "
            + "complete. Await it, or run the endpoint on the thread pool with [RunOffReactor] or 'await context.LeaveReactor()'.";
        string message = $"The request {reason}";
        // Described while it still waits: once released, the handler ends, and the request's name is lost.
        string owner = Describe();
        var aborted = new ConnectionAbortedException(message);
        _ending.Begin(EndKind.Reset, aborted);
        // Wrapped, as the inner exception is a cancellation: a blocked wait on a canceled task reports only that it was canceled.
        _input.Break(new InvalidOperationException(message, aborted));
        _writer.Break();
        _ending.BeginReportClosed();
        _log.ReactorWaitFailed(_connection.ConnectionId, owner, reason);
    }

    private string Describe()
    {
        string? name = NameRequest();
        return name is null ? $"connection {_connection.ConnectionId}" : $"{name} (connection {_connection.ConnectionId})";
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
}
