using System.Diagnostics;
using Millrace.Engine.Buffers;
using Millrace.Engine.Loop;

namespace Millrace.Engine;

/// <content>Output as the handler sees it: writes fill a batch, and a flush sends it.</content>
public sealed partial class Connection
{
    /// <summary>Created on first use: most flushes are not awaited.</summary>
    private ReactorSignal<FlushOutcome>? _flush;
    private OutputBatch? _filling;
    private bool _flushRequested;

    /// <summary>The part of the batch that the requested flush covers. Later bytes may still be retracted.</summary>
    private long _flushedBytes;
    private bool _outputBroken;

    /// <summary>A filter ended the connection while the handler runs: the handler's output is dropped.</summary>
    private bool _outputIsDiscarded;
    private long _flushDoneAtUnsent;

    /// <summary>Bytes written and not yet taken by the kernel, flushed or not.</summary>
    public long UnsentBytes
    {
        get
        {
            AssertServing();
            return BytesLeft;
        }
    }

    private long BytesLeft => (_filling?.Bytes ?? 0) + (_sending?.Bytes ?? 0);

    private long FlushedBytesLeft => BytesLeft - UnflushedBytes;

    /// <summary>The most that a send would cover now.</summary>
    internal long BytesToSend => _filling?.Bytes ?? 0;

    internal long UnflushedBytes => _filling is null ? 0 : _filling.Bytes - (_flushRequested ? _flushedBytes : 0);

    /// <summary>
    /// Space for at least <paramref name="sizeHint"/> bytes (0: any size) after what was written; <see cref="Advance"/> commits them. Valid
    /// until the next call that writes or flushes.
    /// </summary>
    public Span<byte> GetSpan(int sizeHint = 0)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        return Filling().GetSpan(sizeHint);
    }

    /// <summary>Commits bytes that were written to <see cref="GetSpan"/>.</summary>
    public void Advance(int count)
    {
        OutputBatch batch = Filling();
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(count, batch.Room);
        batch.Advance(count);
    }

    /// <summary>Writes a copy of the bytes.</summary>
    public void Write(ReadOnlySpan<byte> bytes) => Filling().Write(bytes);

    /// <summary>
    /// Writes the caller's memory without a copy: it must be native or pinned, and stay unchanged until a later <see cref="FlushAsync()"/>
    /// has completed (one with a limit may complete earlier). Up to some kilobytes a copy is cheaper than a second part of a send
    /// (measured: 0.13 against 0.5 us at 10 KB).
    /// </summary>
    public unsafe void WriteReference(byte* memory, int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        Filling().WriteReference(memory, count);
    }

    /// <summary>
    /// Writes the first bytes of a block without a copy. Holds the block until the kernel has them or the output is lost.
    /// </summary>
    internal void WriteShared(SharedBlock block, int count) => Filling().WriteShared(block, count);

    /// <summary>
    /// As <see cref="WriteReference"/>, for memory that maps a file, from <paramref name="offset"/> of that file on. A socket takes large
    /// parts by reference, so the pages must stay unchanged until the peer has acknowledged them: nothing may write to that file any more.
    /// It may be unmapped and closed once the flush has completed.
    /// </summary>
    internal unsafe void WritePages(byte* memory, int count, int file, long offset)
    {
        Debug.Assert(count >= 0 && offset >= 0);
        if (count < PagesBytesMin)
        {
            Filling().WriteReference(memory, count);
        }
        else
        {
            Filling().WritePages(memory, count, file, offset);
        }
    }

    /// <summary>
    /// Takes back the last bytes that were written and not flushed, such as a head whose file turned out to be a different one. Their
    /// memory stays unchanged until the next flush has completed, so it may be written again by reference. No effect once the output is
    /// lost.
    /// </summary>
    /// <exception cref="ArgumentOutOfRangeException">Fewer bytes were written since the last flush.</exception>
    public void Retract(int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        OutputBatch batch = Filling();
        if (!IsOutputLost)
        {
            ArgumentOutOfRangeException.ThrowIfGreaterThan(count, UnflushedBytes);
            batch.Retract(count);
        }
    }

    /// <summary>
    /// Sends what was written, at the end of this event-loop iteration, together with what is written until then. Does not wait: while a
    /// send is in flight the bytes queue up (write-behind; see <see cref="UnsentBytes"/>).
    /// </summary>
    public void Flush()
    {
        Reactor.AssertReactorThread();
        AssertServing();
        RequestFlush();
    }

    /// <summary>As <see cref="Flush"/>, and waits until everything written so far is with the kernel. One wait at a time.</summary>
    /// <exception cref="InvalidOperationException">Another wait is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<FlushOutcome> FlushAsync() => FlushAsync(0);

    /// <summary>As <see cref="Flush"/>, and waits until at most this many bytes are unsent: a limit on write-behind.</summary>
    /// <exception cref="InvalidOperationException">Another wait is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<FlushOutcome> FlushAsync(long unsentBytesMax)
    {
        Reactor.AssertReactorThread();
        AssertServing();
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
    internal void SendFlushedNow()
    {
        if (_flushRequested && _sending is null && UnflushedBytes == 0)
        {
            SendFlushed();
        }
    }

    /// <summary>Ends a pending wait, for PipeWriter.CancelPendingFlush. What was flushed is still sent.</summary>
    internal void TryEndFlush()
    {
        if (IsFlushPending)
        {
            _flush!.Complete(FlushOutcome.Sent);
        }
    }

    private bool IsFlushPending => _flush is { IsPending: true };

    /// <summary>A broken output also ends a flush, but not while the kernel may still read memory that was written by reference.</summary>
    private bool IsFlushDone => IsOutputLost ? !_sendInFlight : FlushedBytesLeft <= _flushDoneAtUnsent;

    private FlushOutcome FlushResult => IsOutputLost ? FlushOutcome.Closed : FlushOutcome.Sent;

    private bool IsOutputDrained =>
        _sending is null && !_fileReadInFlight && !_filterSendRequested && (_filling is null || _outputIsDiscarded);

    /// <summary>Whether the handler's output can no longer reach the peer.</summary>
    private bool IsOutputLost => _outputBroken || _outputIsDiscarded;

    private void OpenOutput()
    {
        _outputBroken = _outputIsDiscarded = false;
        _flushRequested = false;
        OpenZeroCopy();
        OpenPages();
        OpenOutputAccounting();
    }

    private OutputBatch Filling()
    {
        Reactor.AssertReactorThread();
        AssertServing();
        if (_fileReadInFlight)
        {
            throw new InvalidOperationException("A file is being read into the output of this connection; await it before writing on.");
        }

        return _filling ??= Reactor.Batches.Rent(this);
    }

    private void RequestFlush()
    {
        if (_outputIsDiscarded)
        {
            DropFilling();
        }
        else if (_filling is not null)
        {
            _flushRequested = true;
            _flushedBytes = _filling.Bytes;
            QueueFlush();
        }
    }

    private void QueueFlush()
    {
        if (_sending is null && !_flushQueued)
        {
            _flushQueued = true;
            Reactor.QueueFlush(this);
        }
    }

    /// <summary>The handler has returned: everything is sent, then the filters' final bytes.</summary>
    private void FlushLast()
    {
        if (_innermostFilter is not null && !_outputBroken)
        {
            _filling ??= Reactor.Batches.Rent(this);
        }

        RequestFlush();
    }
}
