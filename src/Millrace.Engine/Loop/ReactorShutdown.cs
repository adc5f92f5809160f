using Millrace.Engine.Listening;

namespace Millrace.Engine.Loop;

/// <summary>
/// A reactor's end: connections finish until the drain deadline, the remaining ones are reset, and all resources are freed. Reactor thread.
/// </summary>
internal sealed class ReactorShutdown(Reactor reactor)
{
    /// <summary>How long handlers have to return after their connections were reset at the drain deadline.</summary>
    private const int GraceAfterAbortMs = 1_000;

    /// <summary>Later than this after the grace period, the machine was suspended (or the thread starved) meanwhile.</summary>
    private const int SuspendedMs = 20;

    private const int GracePeriodsMax = 4;

    private long _abortAtMs = TimeLimit.Never;
    private long _giveUpAtMs = TimeLimit.Never;
    private int _gracePeriods;

    public bool HasBegun { get; private set; }

    public bool HasReset => _giveUpAtMs != TimeLimit.Never;

    /// <summary>When <see cref="IsDone"/> may have something to do; <see cref="TimeLimit.Never"/> for never.</summary>
    public long NextDueMs => Math.Min(_abortAtMs, _giveUpAtMs);

    public void Begin(TimeSpan drain)
    {
        HasBegun = true;
        _abortAtMs = TimeLimit.After(reactor.NowMs, drain);
        foreach (Acceptor acceptor in reactor.Acceptors)
        {
            acceptor.Stop();
        }

        foreach (Connection connection in reactor.Connections.InUse())
        {
            connection.Reader.OnDrain();
        }
    }

    /// <summary>Takes the next step, if it is due; true when the loop may end.</summary>
    public bool IsDone()
    {
        if (!HasBegun)
        {
            return false;
        }

        if (reactor.Connections.Count == 0 && reactor.Acceptors.IsEmpty && reactor.DatagramSockets.Count == 0)
        {
            // No connection is left that could use an operation.
            reactor.Operations.Close();
            if (reactor.Operations.Count == 0)
            {
                return reactor.Connections.Count == 0 && reactor.DatagramSockets.Count == 0;
            }
        }

        if (reactor.NowMs >= _abortAtMs)
        {
            _abortAtMs = TimeLimit.Never;
            GiveGrace();
            foreach (Connection connection in reactor.Connections.InUse())
            {
                connection.Ending.EndAtDeadline();
            }

            // Each that has something in flight is removed later.
            reactor.DatagramSockets.ForEach(static socket => socket.Close());
            reactor.Operations.Close();
        }

        if (_giveUpAtMs < reactor.NowMs - SuspendedMs && _gracePeriods < GracePeriodsMax)
        {
            // The time did not pass for the kernel: cancelled operations are about to complete.
            GiveGrace();
        }

        return reactor.NowMs >= _giveUpAtMs;
    }

    /// <summary>
    /// Fails the waits for operations that the kernel has not ended in time. Not those for reads into the caller's memory, which the kernel
    /// may still write to.
    /// </summary>
    public void AbandonWaits()
    {
        foreach (Connection connection in reactor.Connections.InUse())
        {
            connection.Abandon();
        }

        reactor.Operations.Abandon();
    }

    public void TearDown()
    {
        // Cancel, drain, close the ring, free: in this order. All connections have ended, so nothing is in flight, unless a handler never
        // returned or a disk never responded; then the memory is leaked, because it may still be written to.
        if (reactor.Connections.Count > 0 || reactor.Operations.Count > 0)
        {
            reactor.Log.ConnectionsLeft(reactor.Index, reactor.Connections.Count, reactor.Operations.Count);
            reactor.Connections.ReportOutstanding();
            return;
        }

        reactor.Backend.Dispose();
        reactor.Batches.Dispose();
        reactor.Pools.Dispose();
    }

    private void GiveGrace()
    {
        _gracePeriods++;
        _giveUpAtMs = reactor.NowMs + GraceAfterAbortMs;
    }
}
