using Millrace.Engine.Buffers;
using Millrace.Engine.Listening;

namespace Millrace.Engine;

/// <content>The end: what is under way is finished until the deadline, the rest is reset, and all is given back.</content>
public sealed partial class Reactor
{
    /// <summary>How long handlers get to return once their connections were reset at the drain deadline.</summary>
    private const int GraceAfterAbortMs = 1_000;

    /// <summary>Who comes later than this to the end of the grace has slept through it, as a machine that was suspended.</summary>
    private const int SleptMs = 20;

    private const int GracesMost = 4;

    private long _abortAtMs = long.MaxValue;
    private long _giveUpAtMs = long.MaxValue;
    private int _graces;

    private void BeginDrain(TimeSpan drain)
    {
        IsDraining = true;
        _abortAtMs = NowMs + (long)drain.TotalMilliseconds;
        foreach (Acceptor acceptor in _acceptors)
        {
            acceptor.Stop();
        }

        foreach (Connection connection in Connections.InUse())
        {
            connection.OnDrain();
        }
    }

    private bool IsDrained()
    {
        if (!IsDraining)
        {
            return false;
        }

        if (Connections.Count == 0 && _acceptors.TrueForAll(static acceptor => acceptor.Stopped.IsCompleted))
        {
            // Nobody is served any more for whom one could be under way.
            Errands.Close();
            if (Errands.Count == 0)
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
                connection.EndAtDeadline();
            }

            Errands.Close();
        }

        if (_giveUpAtMs < NowMs - SleptMs && _graces < GracesMost)
        {
            // What was cancelled is about to complete.
            GiveGrace();
        }

        return NowMs >= _giveUpAtMs;
    }

    private void GiveGrace()
    {
        _graces++;
        _giveUpAtMs = NowMs + GraceAfterAbortMs;
    }

    private void TearDown()
    {
        // Cancel, drain, close the ring, free: in this order. Every connection has ended, so nothing is in flight, unless a
        // handler never returned, or a disk never answered; then their memory stays, because somebody may still write to it.
        if (Connections.Count > 0 || Errands.Count > 0)
        {
            Log.ConnectionsLeft(Index, Connections.Count, Errands.Count);
            Connections.ReportOutstanding();
            return;
        }

        Backend.Dispose();
        while (_batches.TryPop(out OutputBatch? batch))
        {
            batch.Dispose();
        }

        Pools.Dispose();
    }

    /// <summary>What was posted too late: it was about connections that are gone.</summary>
    private static void Abandon(Action<object?> action, object? state)
    {
    }
}
