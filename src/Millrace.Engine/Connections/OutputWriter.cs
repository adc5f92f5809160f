using System.Diagnostics;
using Millrace.Engine.Buffers;
using Millrace.Engine.Loop;

namespace Millrace.Engine.Connections;

/// <summary>
/// A connection's output as its handler sees it: writes fill a batch, and a flush gives it to the sender. Reactor thread.
/// </summary>
internal sealed class OutputWriter(Connection connection)
{
    /// <summary>From this size on two calls cost less than the copy. Bodies kept in memory below it are not put into pages.</summary>
    private const int PagesBytesMin = 32 * 1024;

    /// <summary>Created on first use: most flushes are not awaited.</summary>
    private ReactorSignal<FlushOutcome>? _flush;
    private OutputBatch? _filling;
    private bool _isFlushRequested;

    /// <summary>The part of the batch that the requested flush covers. Later bytes may still be retracted.</summary>
    private long _flushedBytes;
    private long _flushDoneAtUnsent;

    /// <summary>The connection is ending, or the kernel refused output: nothing reaches the peer any more.</summary>
    public bool IsBroken { get; set; }

    /// <summary>A filter ended the connection while the handler runs: the handler's output is dropped.</summary>
    public bool IsDiscarded { get; private set; }

    /// <summary>Whether the handler's output can no longer reach the peer.</summary>
    public bool IsLost => IsBroken || IsDiscarded;

    /// <summary>Bytes written and not yet taken by the sender, flushed or not.</summary>
    public long Bytes => _filling?.Bytes ?? 0;

    public long UnflushedBytes => _filling is null ? 0 : _filling.Bytes - (_isFlushRequested ? _flushedBytes : 0);

    public long UnsentBytes => Bytes + connection.Sender.UnsentBytes;

    public bool IsEmpty => _filling is null;

    /// <summary>Whether all that is still to be sent was given to the sender.</summary>
    public bool IsDrained => (_filling is null || IsDiscarded) && !connection.IsReadingFile;

    public bool IsFlushRequested => _isFlushRequested;

    public bool IsFlushPending => _flush is { IsPending: true };

    /// <summary>A broken output also ends a flush, but not while the kernel may still read memory that was written by reference.</summary>
    private bool IsFlushDone =>
        IsLost ? !connection.Sender.IsInFlight : UnsentBytes - UnflushedBytes <= _flushDoneAtUnsent;

    private FlushOutcome FlushResult => IsLost ? FlushOutcome.Closed : FlushOutcome.Sent;

    public void Reset()
    {
        Debug.Assert(_filling is null && !IsFlushPending);
        IsBroken = IsDiscarded = _isFlushRequested = false;
    }

    public OutputBatch Batch()
    {
        connection.AssertUsable();
        if (connection.IsReadingFile)
        {
            throw new InvalidOperationException("A file is being read into the output of this connection; await it before writing on.");
        }

        return _filling ??= connection.Reactor.Batches.Rent(connection);
    }

    public void Advance(int count)
    {
        OutputBatch batch = Batch();
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, batch.Room);
        batch.Advance(count);
    }

    public unsafe void WritePages(byte* memory, int count, int file, long offset)
    {
        Debug.Assert(count >= 0 && offset >= 0);
        if (count < PagesBytesMin)
        {
            Batch().WriteReference(memory, count);
        }
        else
        {
            Batch().WritePages(memory, count, file, offset);
        }
    }

    public void Retract(int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        OutputBatch batch = Batch();
        if (!IsLost)
        {
            ArgumentOutOfRangeException.ThrowIfGreaterThan(count, UnflushedBytes);
            batch.Retract(count);
        }
    }

    public void RequestFlush()
    {
        if (IsDiscarded)
        {
            Drop();
        }
        else if (_filling is not null)
        {
            _isFlushRequested = true;
            _flushedBytes = _filling.Bytes;
            connection.Sender.Queue();
        }
    }

    public ValueTask<FlushOutcome> FlushAsync(long unsentBytesMax)
    {
        connection.AssertUsable();
        if (IsFlushPending)
        {
            throw new InvalidOperationException("A flush of this connection is pending; await it before the next.");
        }

        RequestFlush();
        _flushDoneAtUnsent = unsentBytesMax;
        return IsFlushDone ? new ValueTask<FlushOutcome>(FlushResult) : (_flush ??= new()).Begin();
    }

    /// <summary>
    /// Sends at once what was flushed, if no send is in flight and nothing was written since: later bytes may still be retracted, so then
    /// the flushed ones wait for the next flush or the end of the iteration.
    /// </summary>
    public void SendFlushedNow(bool byCall = false)
    {
        if (_isFlushRequested && connection.Sender.IsIdle && UnflushedBytes == 0)
        {
            connection.Sender.SendFlushed(byCall);
        }
    }

    /// <summary>The handler has returned: everything is sent, then the filters' final bytes.</summary>
    public void FlushLast()
    {
        if (!connection.Filters.IsEmpty && !IsBroken)
        {
            _filling ??= connection.Reactor.Batches.Rent(connection);
        }

        RequestFlush();
    }

    /// <summary>The flushed batch, for the sender; null if there is none.</summary>
    public OutputBatch? TakeFlushed()
    {
        if (!_isFlushRequested || connection.IsReadingFile)
        {
            return null;
        }

        OutputBatch? flushed = _filling;
        _isFlushRequested &= flushed is null;
        _filling = null;
        return flushed;
    }

    /// <summary>Ends a pending wait, for PipeWriter.CancelPendingFlush. What was flushed is still sent.</summary>
    public void TryEndFlush()
    {
        if (IsFlushPending)
        {
            _flush!.Complete(FlushOutcome.Sent);
        }
    }

    public void EndFlushIfDone()
    {
        if (IsFlushPending && IsFlushDone)
        {
            _flush!.Complete(FlushResult);
        }
    }

    /// <summary>Drops what was written and not sent, and what the handler still writes.</summary>
    public void Discard()
    {
        IsDiscarded = true;
        _isFlushRequested = false;
        Drop();
    }

    /// <summary>Drops the batch, unless the kernel is reading a file into it.</summary>
    public void Drop()
    {
        if (_filling is not null && !connection.IsReadingFile)
        {
            connection.Reactor.Batches.Return(_filling);
            _filling = null;
        }
    }
}
