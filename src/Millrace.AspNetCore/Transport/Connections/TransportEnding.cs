using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>How this side ends a connection.</summary>
internal enum EndKind
{
    /// <summary>All output is sent: a FIN, and a moment for the peer to receive everything.</summary>
    Orderly,

    /// <summary>At once, with a FIN.</summary>
    Finish,

    /// <summary>At once, with a reset.</summary>
    Reset,
}

/// <summary>
/// The end of a connection: the first that is requested counts, from any thread. It is carried out on the reactor's thread, and reported to
/// the application on the thread pool.
/// </summary>
internal sealed class TransportEnding(TransportConnection owner, Connection connection, IDuplexPipe transport, TransportLog log)
    : IAsyncDisposable
{
    private static readonly Action<object?> EndCallback = static ending => ((TransportEnding)ending!).End();

    private readonly Reactor _reactor = connection.Reactor;
    private readonly CancellationTokenSource _closed = new();

    /// <summary>Continuations run on the thread that ran the callbacks, on the thread pool, after them.</summary>
    private readonly TaskCompletionSource _closedReported = new();
    private volatile ConnectionEnd? _end;
    private volatile bool _isOver;
    private bool _isReportingClosed;

    /// <summary>Canceled by <see cref="BeginReportClosed"/>.</summary>
    public CancellationToken Closed => _closed.Token;

    public bool HasBegun => _end is not null;

    /// <summary>Whether the engine's connection may belong to another peer.</summary>
    public bool IsOver => _isOver;

    /// <summary>Null until an end has been requested.</summary>
    public Exception? Reason => _end?.Reason;

    /// <summary>Does nothing if the connection is ending already. Any thread.</summary>
    public void Begin(EndKind kind, Exception reason)
    {
        if (Interlocked.CompareExchange(ref _end, new ConnectionEnd(kind, reason), null) is not null)
        {
            return;
        }

        // Deferred, as the caller may be inside another operation and may hold locks.
        if (_reactor.IsReactorThread)
        {
            _reactor.Defer(EndCallback, this);
        }
        else
        {
            _reactor.Post(EndCallback, this);
        }

        if (kind == EndKind.Reset)
        {
            log.ConnectionWriteRst(owner.ConnectionId, reason.Message);
        }
        else
        {
            log.ConnectionWriteFin(owner.ConnectionId, reason.Message);
        }
    }

    /// <summary>Awaits part of a pump. An exception ends this connection, is logged, and is returned for the application.</summary>
    public async Task<Exception?> GuardAsync(Task part, string place)
    {
        try
        {
            await part;
        }
        catch (ObjectDisposedException) when (_reactor.HasEnded)
        {
            // No reactor is left to receive or to send.
        }
#pragma warning disable CA1031 // Any exception: continuations of the application run inside, and may throw.
        catch (Exception unexpected)
#pragma warning restore CA1031
        {
            log.Unexpected(place, owner.ConnectionId, unexpected);
            Begin(EndKind.Reset, unexpected);
            return unexpected;
        }

        return null;
    }

    /// <summary>Logs and returns the engine's reason for a broken connection: at Debug at most, as the peer causes it.</summary>
    public IOException ReportFault()
    {
        if (connection.Ending.Fault is { } fault)
        {
            var error = new IOException($"The connection broke: {fault}.");
            log.ConnectionError(owner.ConnectionId, error);
            return error;
        }

        log.ConnectionReset(owner.ConnectionId);
        return new ConnectionResetException("The connection was reset by the peer.");
    }

    /// <summary>
    /// Called after both pumps have ended. An end requested on another thread may still be queued, and from here on the engine's connection
    /// may belong to another peer.
    /// </summary>
    public async Task EndOnReactorAsync()
    {
        try
        {
            await _reactor.SwitchTo();
            End();
        }
        catch (ObjectDisposedException) when (_reactor.HasEnded)
        {
            // A reactor that stopped at its deadline leaves open connections behind, and has logged so: there is no reactor to return to.
        }
        finally
        {
            _isOver = true;
        }
    }

    /// <summary>
    /// Runs once, on the thread pool: the callbacks belong to the application and would stall the reactor. Only disposal waits for them;
    /// the engine's connection ends on the reactor without them. Any thread.
    /// </summary>
    public void BeginReportClosed()
    {
        if (!Interlocked.Exchange(ref _isReportingClosed, true))
        {
            ThreadPool.UnsafeQueueUserWorkItem(static ending => ending.ReportClosed(), this, preferLocal: false);
        }
    }

    public async ValueTask DisposeAsync()
    {
        await _closedReported.Task;
        _closed.Dispose();
    }

    private void ReportClosed()
    {
        try
        {
            _closed.Cancel();
        }
#pragma warning disable CA1031 // An exception of a callback must not keep the connection open.
        catch (Exception error)
#pragma warning restore CA1031
        {
            log.Unexpected("a callback of ConnectionClosed", owner.ConnectionId, error);
        }

        _closedReported.SetResult();
    }

    /// <summary>Reactor thread. Releases both pumps from what they wait for.</summary>
    private void End()
    {
        if (_isOver)
        {
            return;
        }

        switch (_end!.Kind)
        {
            case EndKind.Reset:
                connection.Abort();
                break;
            case EndKind.Finish:
                connection.Finish();
                break;
            default:
                connection.Reader.TryEndWait(ReadOutcome.End);
                break;
        }

        transport.Output.CancelPendingFlush();
        transport.Input.CancelPendingRead();
    }

    private sealed record ConnectionEnd(EndKind Kind, Exception Reason);
}
