using System.Diagnostics;
using Millrace.Engine.Buffers;
using Millrace.Engine.Scheduling;

namespace Millrace.Engine;

/// <content>Output as the handler sees it: what it writes goes into a batch, which a flush hands over.</content>
public sealed partial class Connection
{
    /// <summary>Made when first needed: most flushes need not be waited for.</summary>
    private Signal<FlushOutcome>? _flush;
    private OutputBatch? _filling;
    private bool _flushRequested;

    /// <summary>Where a flush was requested: how much of what is being filled it was about. The rest may still be taken back.</summary>
    private long _flushedBytes;
    private bool _outputBroken;

    /// <summary>A stage has ended the connection while the handler ran: what that writes is dropped.</summary>
    private bool _outputIsVain;
    private long _flushDoneAtUnsent;

    /// <summary>Bytes written and not yet taken by the kernel, flushed or not.</summary>
    public long UnsentBytes
    {
        get
        {
            AssertTenant();
            return BytesLeft;
        }
    }

    private long BytesLeft => (_filling?.Bytes ?? 0) + (_sending?.Bytes ?? 0);

    private long FlushedBytesLeft => BytesLeft - UnflushedBytes;

    internal long UnflushedBytes => _filling is null ? 0 : _filling.Bytes - (_flushRequested ? _flushedBytes : 0);

    /// <summary>
    /// Room to write at least <paramref name="sizeHint"/> bytes (0: some) behind what was written; they count once
    /// <see cref="Advance"/> says so. Valid until the next call that writes or flushes.
    /// </summary>
    public Span<byte> GetSpan(int sizeHint = 0)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        return Filling().GetSpan(sizeHint);
    }

    /// <summary>Says how many bytes of <see cref="GetSpan"/> were written.</summary>
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
    /// Writes memory of the caller's without a copy: it must be native or pinned, and stay as it is until a
    /// <see cref="FlushAsync()"/> that follows has completed (one with a limit may complete earlier). Up to some
    /// kilobytes a copy is cheaper than a second part of a send (on this project's machines 0.13 against 0.5 us at 10 KB).
    /// </summary>
    public unsafe void WriteReference(byte* memory, int count)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(count);
        Filling().WriteReference(memory, count);
    }

    /// <summary>Writes the first bytes of a block without a copy. It is held until they are with the kernel, or can reach nobody.</summary>
    internal void WriteShared(SharedBlock block, int count) => Filling().WriteShared(block, count);

    /// <summary>
    /// As <see cref="WriteReference"/>, of memory in which a file is mapped: it is that file's from <paramref name="offset"/> on. A socket
    /// takes large parts of it by reference, so that the pages must stay as they are until the peer has acknowledged them: nobody writes
    /// into that file any more. It may be unmapped and closed, though, when the flush has completed.
    /// </summary>
    internal unsafe void WritePages(byte* memory, int count, int file, long offset)
    {
        Debug.Assert(count >= 0 && offset >= 0);
        if (count < PagesBytesLeast)
        {
            Filling().WriteReference(memory, count);
        }
        else
        {
            Filling().WritePages(memory, count, file, offset);
        }
    }

    /// <summary>
    /// Takes back the last bytes written and not flushed: a head, say, whose file turned out to be another. The memory they stand in
    /// stays as it is until the flush that follows has completed, so it may be written again by reference. Nothing happens where nothing
    /// can reach the peer any more.
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
    /// Sends what was written, at the end of this turn together with what is written until then. Does not wait: while a send is
    /// under way the bytes queue up behind it (write-behind; see <see cref="UnsentBytes"/>).
    /// </summary>
    public void Flush()
    {
        Reactor.AssertHome();
        AssertTenant();
        RequestFlush();
    }

    /// <summary>As <see cref="Flush"/>, and waits until everything written so far is with the kernel. One wait at a time.</summary>
    /// <exception cref="InvalidOperationException">Another wait is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<FlushOutcome> FlushAsync() => FlushAsync(0);

    /// <summary>As <see cref="Flush"/>, and waits until no more than so many bytes are unsent: a limit on write-behind.</summary>
    /// <exception cref="InvalidOperationException">Another wait is pending, or the caller is not on the reactor's thread.</exception>
    public ValueTask<FlushOutcome> FlushAsync(long unsentBytesMax)
    {
        Reactor.AssertHome();
        AssertTenant();
        if (IsFlushPending)
        {
            throw new InvalidOperationException("A flush of this connection is pending; await it before the next.");
        }

        RequestFlush();
        _flushDoneAtUnsent = unsentBytesMax;
        return IsFlushDone ? new ValueTask<FlushOutcome>(FlushResult) : (_flush ??= new()).Begin();
    }

    /// <summary>
    /// Hands to the kernel now what was flushed, if it is free and nothing was written since: that may still be taken back, so what was
    /// flushed before it waits for the next flush, or for the end of the turn.
    /// </summary>
    internal void SendFlushedNow()
    {
        if (_flushRequested && _sending is null && UnflushedBytes == 0)
        {
            SendFlushed();
        }
    }

    /// <summary>Ends a pending wait from outside, as PipeWriter.CancelPendingFlush wants it. What was flushed is still sent.</summary>
    internal void TryEndFlush()
    {
        if (IsFlushPending)
        {
            _flush!.Complete(FlushOutcome.Sent);
        }
    }

    private bool IsFlushPending => _flush is { IsPending: true };

    /// <summary>A broken output ends a flush too, but not while the kernel may still read what was written by reference.</summary>
    private bool IsFlushDone => IsOutputLost ? !_sendInFlight : FlushedBytesLeft <= _flushDoneAtUnsent;

    private FlushOutcome FlushResult => IsOutputLost ? FlushOutcome.Closed : FlushOutcome.Sent;

    private bool IsOutputDrained =>
        _sending is null && !_fileReadInFlight && !_stageSendRequested && (_filling is null || _outputIsVain);

    /// <summary>Whether nothing that the handler writes can reach the peer any more.</summary>
    private bool IsOutputLost => _outputBroken || _outputIsVain;

    private void OpenOutput()
    {
        _outputBroken = _outputIsVain = false;
        _flushRequested = false;
        OpenZeroCopy();
        OpenPages();
        OpenAccount();
    }

    private OutputBatch Filling()
    {
        Reactor.AssertHome();
        AssertTenant();
        if (_fileReadInFlight)
        {
            throw new InvalidOperationException("A file is being read into the output of this connection; await it before writing on.");
        }

        return _filling ??= Reactor.RentBatch();
    }

    private void RequestFlush()
    {
        if (_outputIsVain)
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

    /// <summary>The handler has returned: everything goes out, and the stages' last word behind it.</summary>
    private void FlushLast()
    {
        if (_innermostStage is not null && !_outputBroken)
        {
            _filling ??= Reactor.RentBatch();
        }

        RequestFlush();
    }
}
