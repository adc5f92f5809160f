using Millrace.Engine;
using Millrace.Engine.Backends;
using Millrace.Engine.Connections;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>
/// Asked when a reactor is about to wait: whoever has something to do is in the kernel's hands, has a deadline, or is in a queue. A
/// connection with nothing of these is never looked at again, and its slot is lost.
/// </summary>
internal static class ConnectionAudit
{
    /// <summary>What is wrong with the connections of a reactor, and with which slot; null for nothing.</summary>
    /// <param name="reactor">It waits.</param>
    /// <param name="isInFlight">Whether the kernel has an operation whose end the reactor has not seen.</param>
    /// <param name="hasUpstreams">Whether handlers may wait for the connections of others.</param>
    public static (int Slot, string What)? Check(Reactor reactor, Func<OperationToken, bool> isInFlight, bool hasUpstreams)
    {
        foreach (Connection connection in reactor.Connections.InUse())
        {
            string? wrong = CheckKernel(connection, isInFlight) ?? CheckTimer(connection) ?? CheckWaits(connection, hasUpstreams);
            if (wrong is not null)
            {
                return (connection.Slot, $"Slot {connection.Slot}, {connection.Phase}, is left with nothing to come: {wrong}.");
            }
        }

        return null;
    }

    private static string? CheckKernel(Connection connection, Func<OperationToken, bool> isInFlight)
    {
        ReadOnlySpan<(OperationKind Kind, bool IsBelieved)> beliefs =
        [
            (OperationKind.Receive, connection.Receiver.IsArmed),
            (OperationKind.Send, connection.Sender.IsInFlight),
            (OperationKind.FileRead, connection.IsReadingFile),
        ];
        int count = 0;
        foreach ((OperationKind kind, bool isBelieved) in beliefs)
        {
            bool isThere = isInFlight(new OperationToken(kind, connection.Generation, connection.Slot));
            count += isThere ? 1 : 0;
            if (isThere != isBelieved)
            {
                return isBelieved ? $"its {kind} is not in flight" : $"a {kind} is in flight that it does not know of";
            }
        }

        int believed = connection.OperationsInFlight;
        return believed == count ? null : $"it counts {believed} operations in flight, and there are {count}";
    }

    private static string? CheckTimer(Connection connection)
    {
        long deadlineMs = connection.Timers.NearestDeadlineMs();
        if (deadlineMs == long.MaxValue)
        {
            return null;
        }

        int[] index = ConnectionState.Index(connection.Reactor.Timers);
        bool isScheduled = connection.Slot < index.Length && index[connection.Slot] >= 0;
        return isScheduled && connection.Timers.TimerMs <= deadlineMs ? null : "its next deadline has no timer";
    }

    private static string? CheckWaits(Connection connection, bool hasUpstreams)
    {
        bool isReceiving = connection.Receiver.IsArmed
            || (connection.Receiver.IsStarved && ConnectionState.AwaitingBuffer(connection.Reactor.Loop).Contains(connection));
        bool isSending = connection.IsReadingFile
            || connection.Sender.IsInFlight
            || (!connection.Sender.IsIdle && connection.Timers.IsSendDelayed)
            || ConnectionState.Flushes(connection.Reactor.Loop).Contains(connection);
        // Of a read into its own memory only the handler knows whose it is.
        bool mayBeWaiting = hasUpstreams || connection.Reactor.Operations.Count > connection.Reactor.Acceptors.Length;
        // After the end of its input an upstream's handler waits for a deadline.
        bool isReading = connection.Reader.IsWaitingOrIdle && !(connection.Listener.IsOutbound && connection.Reader.End != ReceiveEnd.None);
        if (!connection.Sender.IsIdle && !isSending)
        {
            return "what it sends is neither in flight nor to be tried again";
        }

        return connection.Phase switch
        {
            ConnectionPhase.Serving when isReading && !isReceiving => "it waits for input and receives nothing",
            ConnectionPhase.Serving when isReading && connection.Reader.End != ReceiveEnd.None => "it waits for input that has ended",
            ConnectionPhase.Serving when connection.Writer.IsFlushPending && !isSending => "it waits for a flush of nothing",
            ConnectionPhase.Serving when !isReading && !isSending && !mayBeWaiting => "its handler waits for nothing",
            ConnectionPhase.Flushing when !isSending => "nothing of what is left is sent",
            ConnectionPhase.Lingering when !isReceiving => "it lingers and receives nothing",
            ConnectionPhase.Lingering when connection.Timers.LingerDeadlineMs == long.MaxValue => "it lingers without an end",
            ConnectionPhase.Closing when connection.OperationsInFlight == 0 => "nothing keeps it from being closed",
            ConnectionPhase.Closed when !mayBeWaiting => "it is closed, and its handler has not returned",
            _ => null,
        };
    }
}
