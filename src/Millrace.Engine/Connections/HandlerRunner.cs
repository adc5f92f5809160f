using System.Diagnostics;
using Millrace.Engine.Filters;
using Millrace.Engine.Listening;
using Millrace.Engine.Loop;

namespace Millrace.Engine.Connections;

/// <summary>
/// Runs a connection's handler, possibly several times: an idle connection's handler has returned and will be run again. Most connections
/// of a server wait most of the time, and a waiting handler costs some hundred bytes for its state machine and its session. Reactor thread.
/// </summary>
internal sealed class HandlerRunner
{
    private readonly Connection _connection;
    private readonly Action _ended;
    private Task? _task;

    /// <summary>The handler wants to be run again when it has returned.</summary>
    private bool _wantsIdle;

    /// <summary>Whether the handler has not been run yet because a filter is not ready.</summary>
    private bool _isHeld;

    public HandlerRunner(Connection connection)
    {
        _connection = connection;
        _ended = OnEnded;
    }

    public bool IsRunning => _task is not null;

    /// <summary>Whether the handler has returned and waits to be run again.</summary>
    public bool IsIdle { get; private set; }

    /// <summary>Whether it waits for a next request; clients expect that such a connection may close.</summary>
    public bool IsBetweenRequests => IsIdle && !_isHeld;

    public TaskStatus? Status => _task?.Status;

    public void Reset()
    {
        Debug.Assert(_task is null);
        _wantsIdle = _isHeld = IsIdle = false;
    }

    public void AssertRunning()
    {
        if (_task is null)
        {
            ThrowNotRunning();
        }
    }

    public void AssertRunning(uint generation)
    {
        if (!IsRunningFor(generation))
        {
            ThrowNotRunning();
        }
    }

    public bool IsRunningFor(uint generation) => _task is not null && _connection.Generation == generation;

    /// <summary>Runs a handler for the first time, unless one of the filters holds it back: it then counts as returned and idle.</summary>
    public void Run(ConnectionHandler handler, Func<Connection, IReadOnlyList<ConnectionFilter>>? filters = null)
    {
        // A placeholder while the handler starts: without it, an end in its synchronous part would free the slot under it.
        _task = Task.CompletedTask;
        ExecutionContext? callers = _connection.Reactor.Context.Leave();
        try
        {
            _isHeld = _wantsIdle = filters is not null && _connection.Filters.Create(filters);
            _task = _isHeld
                ? Task.CompletedTask
                : handler(_connection) ?? throw new InvalidOperationException("The connection handler returned no task.");
        }
#pragma warning disable CA1031 // A handler's exception ends its connection, never the reactor.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _task = Task.FromException(error);
        }

        AmbientContext.ReturnTo(callers);
        if (_task.IsCompleted)
        {
            OnEnded();
        }
        else
        {
            _task.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_ended);
        }
    }

    public void WaitIdle(long untilMs)
    {
        _connection.AssertUsable();
        if (_connection.Reader.Count > 0)
        {
            throw new InvalidOperationException("A connection cannot become idle with unconsumed input; consume it first.");
        }

        _connection.Timers.SetReadDeadline(untilMs);
        _wantsIdle = true;
    }

    public void StartHeld()
    {
        if (_isHeld && IsIdle)
        {
            Resume();
        }
    }

    /// <summary>Runs the handler: there is input, or a filter no longer holds the handler back.</summary>
    public void Resume()
    {
        IsIdle = _isHeld = false;
        _connection.Timers.ClearReadDeadline();
        ListenerContext listener = _connection.Listener;
        Run(_connection.Holdings.Lease.Admission == AdmissionResult.Refused ? listener.Refusal! : listener.Handler);
    }

    public void LeaveIdle()
    {
        IsIdle = false;
        if (_connection.Phase == ConnectionPhase.Serving)
        {
            _connection.Ending.EndServing();
            _connection.Progress();
        }
    }

    private static void ThrowNotRunning() =>
        throw new InvalidOperationException("The handler of this connection has returned; the connection can no longer be used.");

    private void OnEnded()
    {
        if (!_connection.Reactor.IsReactorThread)
        {
            _connection.Reactor.Post(static runner => ((HandlerRunner)runner!).OnEnded(), this);
            return;
        }

        Task handler = _task!;
        _task = null;
        bool isServing = _connection.Phase == ConnectionPhase.Serving;
        if (handler.IsFaulted && isServing && !_connection.Writer.IsBroken && _connection.Reader.End != ReceiveEnd.Reset)
        {
            // A failure that follows from a reset, by this side or by the peer, is not logged.
            NoteFailure(handler.Exception!.InnerException ?? handler.Exception);
        }

        if (!handler.IsCompletedSuccessfully)
        {
            _connection.Abort();
        }
        else if (isServing)
        {
            BeginIdleOrEnd();
        }

        _connection.Progress();
    }

    private void NoteFailure(Exception error)
    {
        if (error is OutOfMemoryException)
        {
            _connection.Reactor.Admission.NoteStarved();
        }
        else
        {
            _connection.Reactor.Log.HandlerFailed(error);
        }
    }

    private void BeginIdleOrEnd()
    {
        // A refused connection is not served later.
        bool mayIdle = _wantsIdle && _connection.Reader.End == ReceiveEnd.None
            && (_isHeld || _connection.Holdings.Lease.Admission != AdmissionResult.Refused);
        _wantsIdle = false;
        if (!mayIdle)
        {
            _connection.Ending.EndServing();
        }
        else if (_connection.Reader.Count > 0)
        {
            Resume();
        }
        else
        {
            IsIdle = true;
            _connection.Writer.RequestFlush();
            _connection.Timers.BeginIdle();
            _connection.Receiver.Resume();
            if (_connection.Reactor.IsDraining)
            {
                _connection.Reader.OnDrain();
            }
        }
    }
}
