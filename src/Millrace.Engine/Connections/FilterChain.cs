using System.Diagnostics;
using Millrace.Engine.Buffers;
using Millrace.Engine.Filters;

namespace Millrace.Engine.Connections;

/// <summary>
/// The filters of a connection and what they may request: a send of their own, a delay of the handler, the end of its input or of the
/// connection. An exception of a filter ends its connection, never the reactor. Reactor thread.
/// </summary>
internal sealed class FilterChain(Connection connection)
{
    private ConnectionFilter? _innermost;

    /// <summary>The filter next to the socket; null for none.</summary>
    public ConnectionFilter? Outermost { get; private set; }

    public bool IsEmpty => Outermost is null;

    public bool IsSendRequested { get; set; }

    /// <summary>Whether bytes have reached the handler's input.</summary>
    public bool HasPassedInput { get; set; }

    /// <summary>Why a filter, and with it the connection, has failed; null if none has.</summary>
    public Exception? Failure { get; private set; }

    public void Reset()
    {
        IsSendRequested = HasPassedInput = false;
        Failure = null;
    }

    /// <summary>Makes the filters; whether one holds the handler back.</summary>
    public bool Create(Func<Connection, IReadOnlyList<ConnectionFilter>> make)
    {
        try
        {
            if (make(connection) is not { Count: > 0 } filters)
            {
                return false;
            }

            (Outermost, _innermost) = ConnectionFilter.Chain(connection, filters);
            foreach (ConnectionFilter filter in filters)
            {
                filter.Begin();
            }

            return filters.Any(static filter => filter.HoldsHandler);
        }
        catch (Exception error)
        {
            NoteFailure(error);
            throw;
        }
    }

    public TFilter? Find<TFilter>()
        where TFilter : ConnectionFilter
    {
        ConnectionFilter? filter = _innermost;
        while (filter is not null and not TFilter)
        {
            filter = filter.Outer;
        }

        return (TFilter?)filter;
    }

    /// <summary>
    /// Removes the outermost filter, which has done its work, from the chain and so its cost. <paramref name="remainingBytes"/> of what was
    /// received belong to the filters inside it.
    /// </summary>
    public void RemoveOutermost(ConnectionFilter outermost, int remainingBytes)
    {
        Debug.Assert(Outermost == outermost);
        Outermost = outermost.Inner;
        Outermost?.BecomeOutermost();
        _innermost = Outermost is null ? null : _innermost;
        connection.Receiver.Bytes = remainingBytes;
        outermost.Release();
    }

    /// <summary>
    /// Requests a send for a filter's own bytes (a handshake, an alert): <see cref="ConnectionFilter.Encode"/> is called at the end of the
    /// iteration, with what the handler has flushed or with an empty batch.
    /// </summary>
    public void RequestSend()
    {
        if (!connection.Writer.IsBroken && connection.Phase is ConnectionPhase.Serving or ConnectionPhase.Flushing)
        {
            IsSendRequested = true;
            connection.Sender.Queue();
        }
    }

    /// <summary>The batch after the outermost filter; null when a filter failed, and with it the connection.</summary>
    public OutputBatch? Encode(OutputBatch batch)
    {
        bool isLast = connection.Phase == ConnectionPhase.Flushing && (connection.Writer.IsEmpty || connection.Writer.IsDiscarded);
        for (ConnectionFilter? filter = _innermost; filter is not null; filter = filter.Outer)
        {
            OutputBatch encoded = connection.Reactor.Batches.Rent(connection);
            try
            {
                filter.Encode(batch, encoded);
                if (isLast)
                {
                    filter.EncodeEnd(encoded);
                }
            }
#pragma warning disable CA1031 // See the summary of the class.
            catch (Exception error)
#pragma warning restore CA1031
            {
                connection.Reactor.Batches.Return(encoded);
                connection.Reactor.Batches.Return(batch);
                Fail(error);
                return null;
            }

            connection.Reactor.Batches.Return(batch);
            batch = encoded;
        }

        return batch;
    }

    /// <summary>Passes the end of the socket's input through the filters: how the handler's ends, or not yet.</summary>
    public ReceiveEnd PassEnd(ReceiveEnd end)
    {
        if (Outermost is null)
        {
            return end;
        }

        try
        {
            return Outermost.PassEnd(end);
        }
#pragma warning disable CA1031 // See the summary of the class.
        catch (Exception error)
#pragma warning restore CA1031
        {
            connection.Reactor.Log.FilterFailed(error);
            connection.Ending.ResetOnClose();
            return ReceiveEnd.Reset;
        }
    }

    /// <summary>Ends the handler's input, whatever still comes from the socket.</summary>
    public void EndInput(ReceiveEnd end)
    {
        if (connection.Reader.End == ReceiveEnd.None && connection.Phase == ConnectionPhase.Serving)
        {
            connection.Reader.EndInput(end);
        }
    }

    public void Continue(ConnectionFilter filter) => RunOrFail(filter, static filter => filter.Continue());

    public void OnDeadline()
    {
        for (ConnectionFilter? filter = Outermost;
            filter is not null && connection.Phase == ConnectionPhase.Serving;
            filter = filter.Inner)
        {
            RunOrFail(filter, static filter => filter.DeadlineReached());
        }
    }

    /// <summary>A filter is about to end the connection; the first reason counts.</summary>
    public void NoteFailure(Exception reason) => Failure ??= reason;

    /// <summary>An error of this connection: logged, and the connection aborts.</summary>
    public void Fail(Exception error)
    {
        NoteFailure(error);
        if (error is OutOfMemoryException)
        {
            connection.Reactor.Admission.NoteStarved();
        }
        else
        {
            connection.Reactor.Log.FilterFailed(error);
        }

        connection.Abort();
    }

    public void Release()
    {
        for (ConnectionFilter? filter = _innermost; filter is not null; filter = filter.Outer)
        {
            try
            {
                filter.Release();
            }
#pragma warning disable CA1031 // The other filters are released nevertheless, and the slot returned.
            catch (Exception error)
#pragma warning restore CA1031
            {
                connection.Reactor.Log.FilterFailed(error);
            }
        }

        Outermost = _innermost = null;
    }

    private void RunOrFail(ConnectionFilter filter, Action<ConnectionFilter> step)
    {
        try
        {
            step(filter);
        }
#pragma warning disable CA1031 // See the summary of the class.
        catch (Exception error)
#pragma warning restore CA1031
        {
            connection.Reader.DropBorrowed();
            Fail(error);
        }
    }
}
