using System.Globalization;
using Millrace.Simulation.Tests.Runs;

namespace Millrace.Simulation.Tests.Peers;

/// <content>What the peer thinks of how it was served: how the connection ended, and when.</content>
internal abstract partial class Peer
{
    /// <summary>The run is over: who is not done has been forgotten.</summary>
    public void CheckDone()
    {
        if (!IsDone)
        {
            World.Fail(Number, "The server has stopped, and the peer never saw an end.");
        }
    }

    /// <summary>Until then it is the disk's fault.</summary>
    protected virtual long SlowUntilMs => Math.Max(Socket.SlowUntilMs, Run.Upstreams?.SlowUntilMs ?? 0);

    /// <summary>Whether an answer has lost its end, and does not look whole.</summary>
    protected virtual bool IsCutWithin => false;

    /// <summary>Whether all that it owes comes from upstreams that hang.</summary>
    protected virtual bool OwesHanging => false;

    /// <summary>What the server still has to send, to describe a violation.</summary>
    protected virtual string DescribeOwed() => "";

    /// <summary>What the server may wait when the last byte is taken of what it is still to send where an end is expected.</summary>
    protected virtual long RestMs => 0;

    /// <summary>The server owes something new from now on: the time until its next byte counts.</summary>
    protected void NoteProgress() => _movedAtMs = World.PeersMovedAtMs = World.NowMs;

    /// <summary>The server has to have ended the connection by then.</summary>
    /// <param name="within">From now on.</param>
    /// <param name="deadline">What passes by then, in words.</param>
    /// <param name="nextDeadline">What begins only when another has passed, or a read of a disk: a leap over both of them was one.</param>
    protected void ExpectEnd(TimeSpan within, string deadline, TimeSpan nextDeadline = default)
    {
        _nextDeadlineMs = (long)nextDeadline.TotalMilliseconds;
        _endsByMs = World.NowMs + (long)within.TotalMilliseconds + World.Shape.SlackMs;
        _endsBy = deadline;
        World.EventQueue.At(_endsByMs + 1, this, EndEvent);
    }

    /// <summary>What is wrong with an end in order here, where a tunnel says so; null for nothing.</summary>
    protected virtual string? WhyNoEnd => null;

    private void JudgeEnd()
    {
        World.Trace.Note(Number, TraceEvent.PeerSeesEnd);
        _sawEnd = true;
        if (IsCut)
        {
            Fail("The connection ended in order, and without the last word of its seal.");
        }
        else if (WhyNoEnd is { } wrong && !World.IsStopping)
        {
            Fail(wrong);
        }
        else if (!IsBetweenResponses && !IsCutWithin)
        {
            // Even where the connection may break: an end in order makes the answer look whole.
            Fail("The connection ended in order within an answer.");
        }
        else if (!HasReceivedAll && !WasReportedOfEnd && !MayHaveComeLate && !MayBeLeftBehind && !IsCutWithin && !Socket.MayBreak && !World.IsStopping)
        {
            Fail("The connection ended before everything was answered, and nothing gave a reason.");
        }
        else if (HasReceivedAll && !WasReportedOfEnd && World.NowMs < EarliestEndMs && !Socket.MayBreak && !World.IsStopping)
        {
            Fail("The connection was ended before its deadline.");
        }

        Close();
    }

    private void JudgeReset()
    {
        World.Trace.Note(Number, TraceEvent.PeerSeesReset);
        if (!Socket.MayBreak && !MayBreak && !_sawEnd && World.NowMs < World.DrainEndsAtMs)
        {
            Fail($"The connection was reset, and nothing gave a reason.{DescribeOwed()}");
        }

        End();
    }

    private void WatchProgress()
    {
        if (Socket.MayBreak || World.NowMs >= World.DrainEndsAtMs)
        {
            return;
        }

        // The deadline of an upstream that hangs begins with its last byte, or as the client has taken what came before.
        long waitMs = Run.Upstreams is { Shape: { } upstream } ? upstream.WaitMs + (OwesHanging ? upstream.IdleMs : 0) : 0;
        long dueMs = World.WithJumps(Math.Max(_movedAtMs, SlowUntilMs) + World.Shape.SlackMs + waitMs);
        if (!IsOwed || !IsEager)
        {
            World.EventQueue.In(World.Shape.SlackMs, this, WatchEvent);
        }
        else if (World.NowMs <= dueMs)
        {
            World.EventQueue.At(dueMs + 1, this, WatchEvent);
        }
        else
        {
            Fail(string.Create(CultureInfo.InvariantCulture, $"No byte came for {World.NowMs - _movedAtMs} ms, and the server has all that it needs.{DescribeOwed()}"));
        }
    }

    private void CheckEnd()
    {
        // The last answer may take its time on the way, and nobody lets go of what a disk still writes to.
        long nextMs = Math.Max(World.JumpedAtMs, SlowUntilMs) + _nextDeadlineMs;
        long dueMs = World.WithJumps(Math.Max(_endsByMs, Math.Max(nextMs, _movedAtMs + RestMs) + World.Shape.SlackMs));
        if (World.NowMs <= dueMs)
        {
            World.EventQueue.At(dueMs + 1, this, EndEvent);
        }
        else if (!_sawEnd)
        {
            Fail($"The connection is still there after {_endsBy}.");
        }
    }

    /// <summary>Who stops reading is given up by the deadline for writing, or, if it all fits its window, by the others.</summary>
    private void CheckUnread()
    {
        // A look at a stalled send comes before the verdict: a leap over both of them was one.
        long dueMs = Math.Max(Math.Max(_activeAtMs, SlowUntilMs), World.JumpedAtMs) + UnreadMs;
        if (World.NowMs <= dueMs)
        {
            World.EventQueue.At(dueMs + 1, this, UnreadEvent);
        }
        else if (!Socket.IsClosed)
        {
            Fail($"The connection of a peer that stopped reading is still there after all deadlines.{DescribeOwed()}");
        }
    }
}
