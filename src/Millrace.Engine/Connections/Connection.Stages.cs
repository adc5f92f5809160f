using System.Diagnostics;
using Millrace.Engine.Connections;
using Millrace.Engine.Stages;

namespace Millrace.Engine;

/// <content>
/// The stages of a connection, and what they may ask of it: to send on their own, to have the handler wait, to end its input, to end the
/// connection. Whatever a stage throws ends its connection, never the reactor.
/// </content>
public sealed partial class Connection
{
    private ConnectionStage? _outermostStage;
    private ConnectionStage? _innermostStage;
    private bool _stageSendRequested;
    private bool _hasPassedStages;

    /// <summary>Whether the handler has not been run because a stage is not ready.</summary>
    private bool _isHeld;
    private long _stageDeadlineMs;

    /// <summary>Whether something rewrites what is sent, in memory of the connection's own.</summary>
    internal bool HasStages => _innermostStage is not null;

    /// <summary>The stage of a kind; null where the connection has none.</summary>
    internal TStage? FindStage<TStage>()
        where TStage : ConnectionStage
    {
        ConnectionStage? stage = _innermostStage;
        while (stage is not null and not TStage)
        {
            stage = stage.Outer;
        }

        return (TStage?)stage;
    }

    /// <summary>
    /// A stage has something to say of its own (a handshake, an alert): its <see cref="ConnectionStage.Encode"/> is called at the end of
    /// the turn, with what the handler has flushed or with nothing.
    /// </summary>
    internal void SendFromStage()
    {
        if (!_outputBroken && Phase is ConnectionPhase.Serving or ConnectionPhase.Flushing)
        {
            _stageSendRequested = true;
            QueueFlush();
        }
    }

    /// <summary>
    /// The outermost stage has done its part: the chain goes on without it, at none of its cost. So many bytes that came with its own are
    /// for those within.
    /// </summary>
    internal void LeaveOut(ConnectionStage outermost, int restBytes)
    {
        Debug.Assert(_outermostStage == outermost);
        _outermostStage = outermost.Inner;
        _outermostStage?.BecomeOutermost();
        _innermostStage = _outermostStage is null ? null : _innermostStage;
        _receivedBytes = restBytes;
        outermost.Release();
    }

    /// <summary>What the handler was held back for is there.</summary>
    internal void StartHandler()
    {
        if (_isHeld && IsResting)
        {
            Resume();
        }
    }

    /// <summary>For the handler nothing comes any more, whatever still comes from the socket.</summary>
    internal void EndInputFromStage(ReceiveEnd end)
    {
        if (_inputEnd == ReceiveEnd.None && Phase == ConnectionPhase.Serving)
        {
            EndHandlersInput(end);
        }
    }

    /// <summary>
    /// A stage cannot go on. The handler's waits end as by a reset, what it writes is dropped, and the connection ends in order behind the
    /// stage's last word, so that the peer learns what was wrong.
    /// </summary>
    internal void EndFromStage()
    {
        EndInputFromStage(ReceiveEnd.Reset);
        if (Phase == ConnectionPhase.Serving)
        {
            // The handler still runs: its input stays as it is until it has returned.
            Phase = ConnectionPhase.Flushing;
            _discardBytesLeft = Limits.LingerBytes;
            _outputIsVain = true;
            _flushRequested = false;
            DropFilling();
            SendFromStage();
            EndFlushIfDone();
        }

        Progress();
    }

    /// <summary>When stages are told that it is too late; <see cref="long.MaxValue"/> for never.</summary>
    internal long StageDeadlineMs => _stageDeadlineMs;

    /// <summary>There is one deadline for all of them. <see cref="long.MaxValue"/> takes it back.</summary>
    internal void SetStageDeadline(long atMs)
    {
        _stageDeadlineMs = atMs;
        WakeAt(atMs);
    }

    /// <summary>Runs what a stage has put off.</summary>
    internal void Continue(ConnectionStage stage)
    {
        try
        {
            stage.Continue();
        }
#pragma warning disable CA1031 // Whatever a stage throws is its connection's end, never the reactor's.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _input.DropBorrowed();
            Fail(error);
        }
    }

    private void OpenStages()
    {
        _stageSendRequested = _hasPassedStages = _isHeld = false;
        _stageDeadlineMs = long.MaxValue;
    }

    /// <summary>A chain that cannot be made is a handler that throws. A handler that is held back has returned, to be run later.</summary>
    private bool IsHeldBy(Func<Connection, IReadOnlyList<ConnectionStage>> make)
    {
        if (make(this) is { Count: > 0 } stages)
        {
            (_outermostStage, _innermostStage) = ConnectionStage.Chain(this, stages);
            _isHeld = stages.Any(static stage => stage.HoldsHandler);
        }

        _rest = _isHeld ? RestState.Wanted : _rest;
        return _isHeld;
    }

    private void CheckStages(long nowMs)
    {
        if (nowMs < _stageDeadlineMs)
        {
            return;
        }

        _stageDeadlineMs = long.MaxValue;
        for (ConnectionStage? stage = _outermostStage; stage is not null && Phase == ConnectionPhase.Serving; stage = stage.Inner)
        {
            try
            {
                stage.DeadlineReached();
            }
#pragma warning disable CA1031 // As above.
            catch (Exception error)
#pragma warning restore CA1031
            {
                Fail(error);
            }
        }
    }

    private ReceiveEnd PassEnd(ConnectionStage outermost, ReceiveEnd end)
    {
        try
        {
            return outermost.PassEnd(end);
        }
#pragma warning disable CA1031 // As above.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Reactor.Log.StageFailed(error);
            _resetOnClose = true;
            return ReceiveEnd.Reset;
        }
    }

    private void ReleaseStages()
    {
        for (ConnectionStage? stage = _innermostStage; stage is not null; stage = stage.Outer)
        {
            try
            {
                stage.Release();
            }
#pragma warning disable CA1031 // The others are released all the same, and the slot returned.
            catch (Exception error)
#pragma warning restore CA1031
            {
                Reactor.Log.StageFailed(error);
            }
        }

        _outermostStage = _innermostStage = null;
    }
}
