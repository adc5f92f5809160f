using System.Diagnostics;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;

namespace Millrace.Engine;

/// <content>
/// The filters of a connection and what they may request: a send of their own, a delay of the handler, the end of its input or of the
/// connection. An exception of a filter ends its connection, never the reactor.
/// </content>
public sealed partial class Connection
{
    private ConnectionFilter? _outermostFilter;
    private ConnectionFilter? _innermostFilter;
    private bool _filterSendRequested;
    private bool _hasPassedFilters;

    /// <summary>Whether the handler has not been run yet because a filter is not ready.</summary>
    private bool _isHeld;
    private long _filterDeadlineMs;

    /// <summary>Whether filters rewrite the output, in the connection's own memory.</summary>
    internal bool HasFilters => _innermostFilter is not null;

    /// <summary>The filter of a type; null where the connection has none.</summary>
    internal TFilter? FindFilter<TFilter>()
        where TFilter : ConnectionFilter
    {
        ConnectionFilter? filter = _innermostFilter;
        while (filter is not null and not TFilter)
        {
            filter = filter.Outer;
        }

        return (TFilter?)filter;
    }

    /// <summary>
    /// Requests a send for a filter's own bytes (a handshake, an alert): <see cref="ConnectionFilter.Encode"/> is called at the end of the
    /// iteration, with what the handler has flushed or with an empty batch.
    /// </summary>
    internal void SendFromFilter()
    {
        if (!_outputBroken && Phase is ConnectionPhase.Serving or ConnectionPhase.Flushing)
        {
            _filterSendRequested = true;
            QueueFlush();
        }
    }

    /// <summary>
    /// Removes the outermost filter, which has done its work, from the chain and so its cost. <paramref name="remainingBytes"/> of what was
    /// received belong to the filters inside it.
    /// </summary>
    internal void RemoveOutermost(ConnectionFilter outermost, int remainingBytes)
    {
        Debug.Assert(_outermostFilter == outermost);
        _outermostFilter = outermost.Inner;
        _outermostFilter?.BecomeOutermost();
        _innermostFilter = _outermostFilter is null ? null : _innermostFilter;
        _receivedBytes = remainingBytes;
        outermost.Release();
    }

    /// <summary>Runs a handler that filters held back.</summary>
    internal void StartHandler()
    {
        if (_isHeld && IsWaitingIdle)
        {
            Resume();
        }
    }

    /// <summary>Ends the handler's input, whatever still comes from the socket.</summary>
    internal void EndInputFromFilter(ReceiveEnd end)
    {
        if (_inputEnd == ReceiveEnd.None && Phase == ConnectionPhase.Serving)
        {
            EndHandlersInput(end);
        }
    }

    /// <summary>
    /// A filter cannot go on. The handler's waits end as by a reset and its output is dropped; the filter's final bytes are sent, so that
    /// the peer learns the reason, and the connection ends in order.
    /// </summary>
    internal void EndFromFilter()
    {
        EndInputFromFilter(ReceiveEnd.Reset);
        if (Phase == ConnectionPhase.Serving)
        {
            // The handler still runs: its input stays valid until it has returned.
            Phase = ConnectionPhase.Flushing;
            _discardBytesLeft = Limits.LingerBytes;
            _outputIsDiscarded = true;
            _flushRequested = false;
            DropFilling();
            SendFromFilter();
            EndFlushIfDone();
        }

        Progress();
    }

    /// <summary>When the filters' deadline expires; <see cref="long.MaxValue"/> for never.</summary>
    internal long FilterDeadlineMs => _filterDeadlineMs;

    /// <summary>Sets the one deadline of all filters; <see cref="long.MaxValue"/> removes it.</summary>
    internal void SetFilterDeadline(long atMs)
    {
        _filterDeadlineMs = atMs;
        WakeAt(atMs);
    }

    /// <summary>Runs what a filter has deferred.</summary>
    internal void Continue(ConnectionFilter filter)
    {
        try
        {
            filter.Continue();
        }
#pragma warning disable CA1031 // A filter's exception ends its connection, never the reactor.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _input.DropBorrowed();
            Fail(error);
        }
    }

    private void OpenFilters()
    {
        _filterSendRequested = _hasPassedFilters = _isHeld = false;
        _filterDeadlineMs = long.MaxValue;
    }

    /// <summary>
    /// Makes the filters; whether one holds the handler back, which then counts as returned and runs later. A failure to make them counts
    /// as one of the handler.
    /// </summary>
    private bool IsHeldBy(Func<Connection, IReadOnlyList<ConnectionFilter>> make)
    {
        if (make(this) is { Count: > 0 } filters)
        {
            (_outermostFilter, _innermostFilter) = ConnectionFilter.Chain(this, filters);
            _isHeld = filters.Any(static filter => filter.HoldsHandler);
        }

        _idleState = _isHeld ? IdleState.Wanted : _idleState;
        return _isHeld;
    }

    private void CheckFilters(long nowMs)
    {
        if (nowMs < _filterDeadlineMs)
        {
            return;
        }

        _filterDeadlineMs = long.MaxValue;
        for (ConnectionFilter? filter = _outermostFilter; filter is not null && Phase == ConnectionPhase.Serving; filter = filter.Inner)
        {
            try
            {
                filter.DeadlineReached();
            }
#pragma warning disable CA1031 // As above.
            catch (Exception error)
#pragma warning restore CA1031
            {
                Fail(error);
            }
        }
    }

    private ReceiveEnd PassEnd(ConnectionFilter outermost, ReceiveEnd end)
    {
        try
        {
            return outermost.PassEnd(end);
        }
#pragma warning disable CA1031 // As above.
        catch (Exception error)
#pragma warning restore CA1031
        {
            Reactor.Log.FilterFailed(error);
            _resetOnClose = true;
            return ReceiveEnd.Reset;
        }
    }

    private void ReleaseFilters()
    {
        for (ConnectionFilter? filter = _innermostFilter; filter is not null; filter = filter.Outer)
        {
            try
            {
                filter.Release();
            }
#pragma warning disable CA1031 // The other filters are released nevertheless, and the slot returned.
            catch (Exception error)
#pragma warning restore CA1031
            {
                Reactor.Log.FilterFailed(error);
            }
        }

        _outermostFilter = _innermostFilter = null;
    }
}
