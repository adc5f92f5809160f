using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine.Watching;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>The application's code on the reactor: whose it is, how it leaves, and how it is stopped from waiting there for ever.</content>
internal sealed partial class TransportConnection : IOccupant, IApplicationPlace
{
    /// <summary>Null where the application runs on the thread pool.</summary>
    private readonly HomeScheduler? _home;
    private readonly HomingPipeReader? _input;
    private readonly RelievedPipeWriter? _output;

    /// <summary>Whether input is being put into the pipe: no code of the application's runs meanwhile.</summary>
    private volatile bool _isTaking;
    private volatile IFeatureCollection? _request;

    OccupantWait IOccupant.Wait =>
        (OccupantWait)Math.Max((int)(_input?.Wait ?? OccupantWait.None), (int)(_output?.Wait ?? OccupantWait.None));

    /// <summary>
    /// The request that is being answered; with HTTP/1.1 its features are the same object for all of a connection. Reactor thread.
    /// </summary>
    public void NoteRequest(HttpContext context)
    {
        IFeatureCollection features = context.Features;
        if (_request != features)
        {
            _request = features;
        }

        if (!_areRequestsForeseen)
        {
            ForeseeRequests(context);
        }
    }

    string IOccupant.Describe()
    {
        string? name = null;
        try
        {
            name = _request is { } request ? RequestName.Of(request) : null;
        }
#pragma warning disable CA1031 // The features may be the application's own, and are not made to be asked by another thread.
        catch (Exception)
#pragma warning restore CA1031
        {
        }

        return name is null ? $"connection {ConnectionId}" : $"{name} (connection {ConnectionId})";
    }

    void IOccupant.Relieve() => _output?.Relieve();

    void IOccupant.Fail(long heldUpMs)
    {
        string reason = $"has held its reactor up for {heldUpMs} ms, blocked, as it seems, on a read or a write that only this reactor "
            + "can end. Await it, or let the endpoint run on the thread pool with [RunOffReactor] or 'await context.LeaveReactor()'.";
        string message = $"The request {reason}";
        // While it still waits: let go on, the handler ends, and what it answered is forgotten.
        string occupant = ((IOccupant)this).Describe();
        var aborted = new ConnectionAbortedException(message);
        BeginEnd(EndKind.Reset, aborted);
        // Not that itself, which is a cancellation: a blocked wait for a canceled task says no more than that it was canceled.
        var error = new InvalidOperationException(message, aborted);

        // The reactor cannot end it, being waited in. Between the end and the look, on behalf of the reactor too: had it got on meanwhile
        // and were it about to put input into the pipe, which nobody may complete then, it would see the end.
        Interlocked.MemoryBarrierProcessWide();
        if (!_isTaking)
        {
            _received.Complete(error);
        }

        _output?.Break();
        BeginTellClosed();
        _log.ReactorWaitFailed(ConnectionId, occupant, reason);
    }

    void IApplicationPlace.Leave() => _home?.IsAway = true;

    void IApplicationPlace.Return() => _home?.IsAway = false;
}
