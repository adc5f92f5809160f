using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>How this side ends the connection: the first request counts, from any thread.</content>
internal sealed partial class TransportConnection
{
    private static readonly Action<object?> EndOnReactor = static connection => ((TransportConnection)connection!).End();

    private volatile ConnectionEnd? _end;
    private volatile bool _isOver;
    private bool _hasReturnedSlot;

    /// <summary>
    /// Ends the connection at once: with a reset, or with a FIN if the settings say so or the reason is null. Kestrel passes null when the
    /// peer has finished and it gives the connection up.
    /// </summary>
    public override void Abort(ConnectionAbortedException abortReason)
    {
        EndKind kind = abortReason is null || _settings.FinOnError ? EndKind.Finish : EndKind.Reset;
        BeginEnd(kind, abortReason ?? new ConnectionAbortedException("Kestrel gave up the connection after its peer finished."));
    }

    void IConnectionLifetimeFeature.Abort() =>
        Abort(new ConnectionAbortedException("The connection was aborted by the application via IConnectionLifetimeFeature.Abort()."));

    /// <summary>The connection was never handed to Kestrel, and may never be disposed of: it is reset, and both pumps end.</summary>
    public void Refuse()
    {
        ReturnSlot();
        Abort(new ConnectionAbortedException("The listener has stopped."));
        _application.Input.Complete();
        _application.Output.Complete();
    }

    /// <summary>Returns the slot once, even if the connection is disposed of twice.</summary>
    private void ReturnSlot()
    {
        if (!Interlocked.Exchange(ref _hasReturnedSlot, true))
        {
            _settings.Quota?.Return();
        }
    }

    /// <summary>The engine's reason for a broken connection. Logged at Debug at most, as the peer causes it.</summary>
    private IOException ReportedFault()
    {
        if (_connection.Ending.Fault is { } fault)
        {
            var error = new IOException($"The connection broke: {fault}.");
            _log.ConnectionError(ConnectionId, error);
            return error;
        }

        _log.ConnectionReset(ConnectionId);
        return new ConnectionResetException("The connection was reset by the peer.");
    }

    /// <summary>Does nothing if the connection is ending already. Any thread.</summary>
    private void BeginEnd(EndKind kind, Exception reason)
    {
        if (Interlocked.CompareExchange(ref _end, new ConnectionEnd(kind, reason), null) is not null)
        {
            return;
        }

        // Deferred, as the caller may be inside another operation and may hold locks.
        if (_reactor.IsReactorThread)
        {
            _reactor.Defer(EndOnReactor, this);
        }
        else
        {
            _reactor.Post(EndOnReactor, this);
        }

        if (kind == EndKind.Reset)
        {
            _log.ConnectionWriteRst(ConnectionId, reason.Message);
        }
        else
        {
            _log.ConnectionWriteFin(ConnectionId, reason.Message);
        }
    }

    /// <summary>
    /// Called after both pumps have ended. An end requested on another thread may still be queued, and from here on the engine's connection
    /// may belong to another peer.
    /// </summary>
    private async Task EndOnReactorAsync()
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
                _connection.Abort();
                break;
            case EndKind.Finish:
                _connection.Finish();
                break;
            default:
                _connection.Reader.TryEndWait(ReadOutcome.End);
                break;
        }

        _received.CancelPendingFlush();
        _toSend.CancelPendingRead();
    }
}
