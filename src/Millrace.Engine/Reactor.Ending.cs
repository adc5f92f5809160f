using Millrace.Engine.Loop;

namespace Millrace.Engine;

/// <content>Shutdown: connections finish until the drain deadline, the remaining ones are reset, and all resources are freed.</content>
public sealed partial class Reactor
{
    /// <summary>How long handlers have to return after their connections were reset at the drain deadline.</summary>
    private const int GraceAfterAbortMs = 1_000;

    /// <summary>Later than this after the grace period, the machine was suspended (or the thread starved) meanwhile.</summary>
    private const int SuspendedMs = 20;

    private const int GracePeriodsMax = 4;

    private long _abortAtMs = long.MaxValue;
    private long _giveUpAtMs = long.MaxValue;
    private int _gracePeriods;

    private void BeginDrain(TimeSpan drain)
    {
        IsDraining = true;
        _abortAtMs = TimeLimit.After(NowMs, drain);
        // By index: an acceptor that stops at once removes itself.
        for (int i = 0; i < _acceptors.Count; i++)
        {
            _acceptors[i]?.Stop();
        }

        foreach (Connection connection in Connections.InUse())
        {
            connection.Reader.OnDrain();
        }
    }

    private bool IsDrained()
    {
        if (!IsDraining)
        {
            return false;
        }

        if (Connections.Count == 0 && _acceptors.TrueForAll(static acceptor => acceptor is null))
        {
            // No connection is left that could use an operation.
            Operations.Close();
            if (Operations.Count == 0)
            {
                return Connections.Count == 0;
            }
        }

        if (NowMs >= _abortAtMs)
        {
            _abortAtMs = long.MaxValue;
            GiveGrace();
            foreach (Connection connection in Connections.InUse())
            {
                connection.Ending.EndAtDeadline();
            }

            Operations.Close();
        }

        if (_giveUpAtMs < NowMs - SuspendedMs && _gracePeriods < GracePeriodsMax)
        {
            // The time did not pass for the kernel: cancelled operations are about to complete.
            GiveGrace();
        }

        return NowMs >= _giveUpAtMs;
    }

    private void GiveGrace()
    {
        _gracePeriods++;
        _giveUpAtMs = NowMs + GraceAfterAbortMs;
    }

    /// <summary>
    /// Fails the waits for operations that the kernel has not ended in time. Not those for reads into the caller's memory, which the kernel
    /// may still write to.
    /// </summary>
    private void AbandonWaits()
    {
        for (int i = 0; i < _acceptors.Count; i++)
        {
            _acceptors[i]?.Abandon();
        }

        foreach (Connection connection in Connections.InUse())
        {
            connection.Abandon();
        }

        Operations.Abandon();
    }

    private void TearDown()
    {
        // Cancel, drain, close the ring, free: in this order. All connections have ended, so nothing is in flight, unless a handler never
        // returned or a disk never responded; then the memory is leaked, because it may still be written to.
        if (Connections.Count > 0 || Operations.Count > 0)
        {
            Log.ConnectionsLeft(Index, Connections.Count, Operations.Count);
            Connections.ReportOutstanding();
            return;
        }

        Backend.Dispose();
        Batches.Dispose();
        Pools.Dispose();
    }

    /// <summary>Drops a late post: its connections are gone.</summary>
    private static void Abandon(Action<object?> action, object? state)
    {
    }
}
