using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>The ways our side ends: the first that is asked for counts, from whatever thread.</content>
internal sealed partial class TransportConnection
{
    private static readonly Action<object?> EndHome = static connection => ((TransportConnection)connection!).End();

    private volatile ConnectionEnd? _end;
    private volatile bool _isOver;
    private bool _hasReturnedPlace;

    /// <summary>
    /// Ends it at once: with a reset, unless a FIN is asked for by the settings, or by a null. That one comes in production, when the
    /// peer has finished and Kestrel gives the connection up.
    /// </summary>
    public override void Abort(ConnectionAbortedException abortReason)
    {
        EndKind kind = abortReason is null || _settings.FinOnError ? EndKind.Finish : EndKind.Reset;
        BeginEnd(kind, abortReason ?? new ConnectionAbortedException("The connection was given up, its peer having finished."));
    }

    void IConnectionLifetimeFeature.Abort() =>
        Abort(new ConnectionAbortedException("The connection was aborted by the application via IConnectionLifetimeFeature.Abort()."));

    /// <summary>Nobody took the connection, and perhaps nobody disposes of it: it is reset, and both pumps end.</summary>
    public void Refuse()
    {
        ReturnPlace();
        Abort(new ConnectionAbortedException("The listener has stopped."));
        _application.Input.Complete();
        _application.Output.Complete();
    }

    /// <summary>Once: one that is disposed of twice has one place.</summary>
    private void ReturnPlace()
    {
        if (!Interlocked.Exchange(ref _hasReturnedPlace, true))
        {
            _settings.Places?.Return();
        }
    }

    /// <summary>What the engine says of a connection that broke, logged as the peer's doing: never above Debug.</summary>
    private IOException ToldFault()
    {
        if (_connection.Fault is { } fault)
        {
            var error = new IOException($"The connection broke: {fault}.");
            _log.ConnectionError(ConnectionId, error);
            return error;
        }

        _log.ConnectionReset(ConnectionId);
        return new ConnectionResetException("The connection was reset by the peer.");
    }

    /// <summary>Nothing happens when it is ending already. Any thread.</summary>
    private void BeginEnd(EndKind kind, Exception reason)
    {
        if (Interlocked.CompareExchange(ref _end, new ConnectionEnd(kind, reason), null) is not null)
        {
            return;
        }

        // Never at once: whoever ends it may be in the middle of something, and hold locks.
        if (_reactor.IsHome)
        {
            _reactor.Defer(EndHome, this);
        }
        else
        {
            _reactor.Post(EndHome, this);
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
    /// Both pumps are through. An end that was asked for elsewhere may be on its way still, and from here on the engine's connection may be
    /// another peer's.
    /// </summary>
    private async Task EndAtHomeAsync()
    {
        try
        {
            await _reactor.SwitchTo();
            End();
        }
        catch (ObjectDisposedException) when (_reactor.HasEnded)
        {
            // Past its deadline it leaves connections that nobody has ended: there is no home to come to, and it has said so.
        }

        _isOver = true;
    }

    /// <summary>Reactor thread: both pumps are released from what they wait for.</summary>
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
                _connection.TryEndRead(ReadOutcome.End);
                break;
        }

        _received.CancelPendingFlush();
        _toSend.CancelPendingRead();
    }
}
