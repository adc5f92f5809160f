using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Filters;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>Output on its way to the kernel: one batch at a time, through the filters, until the last byte is taken.</content>
public sealed partial class Connection
{
    private OutputBatch? _sending;
    private bool _flushQueued;
    private bool _sendInFlight;
    private long _sentBytes;

    /// <summary>At the end of an iteration: sends what was flushed in it as one send.</summary>
    internal void SendFlushed()
    {
        _flushQueued = false;
        bool isOfHandler = _flushRequested && _filling is not null && !_fileReadInFlight;
        if (_sending is not null || !(isOfHandler || _filterSendRequested))
        {
            return;
        }

        _flushRequested &= !isOfHandler;
        _filterSendRequested = false;
        if (_outputBroken || Phase >= ConnectionPhase.Closing)
        {
            BreakOutput();
            Progress();
            return;
        }

        OutputBatch plain = isOfHandler ? _filling! : Reactor.Batches.Rent(this);
        _filling = isOfHandler ? null : _filling;
        long plainBytes = plain.Bytes;
        _sending = Encode(plain);
        if (_sending is null)
        {
            return;
        }

        AccountFor(plainBytes, _sending.Bytes);

        if (_sending.Bytes > 0)
        {
            _endsIdle &= plainBytes == 0;
            BeginSendCheck();
            if (EndsWithThis)
            {
                SendWithEnd();
            }
            else
            {
                SubmitSend();
            }
        }
        else
        {
            FinishSend();
            Progress();
        }
    }

    internal void OnSent(in Completion completion)
    {
        if (!completion.IsTerminal)
        {
            AwaitNotice(completion.Result);
            return;
        }

        int result = ResultForPages(TakeNotice(completion));
        _sendInFlight = false;
        _operationsInFlight--;
        if (Phase == ConnectionPhase.Closed)
        {
            // A zero-copy notice after the close.
            BreakOutput();
            Progress();
            return;
        }

        if (result > 0)
        {
            TakeSent(result);
        }
        else if (MustCopy(result))
        {
            _copiesSends = true;
        }
        else if (-result is Errno.ENOBUFS or Errno.ENOMEM or Errno.EAGAIN && Phase != ConnectionPhase.Closing)
        {
            // The kernel is short of memory: an immediate retry would fail again.
            RetrySendLater();
            return;
        }
        else if (-result is not (0 or Errno.EINTR))
        {
            // ECANCELED here is our own close; EPIPE and ECONNRESET are the peer's.
            NoteFault(WithDirectSendError(-result));
            BreakOutput();
            Progress();
            return;
        }

        if (_sending!.Bytes > 0)
        {
            // A partial send: by a limit, a signal, or an error that the next attempt will report.
            if (Phase == ConnectionPhase.Closing)
            {
                BreakOutput();
            }
            else
            {
                BeginSendCheck();
                SubmitSend();
            }
        }
        else
        {
            FinishSend();
        }

        Progress();
    }

    /// <summary>The batch after the outermost filter; null when a filter failed, and with it the connection.</summary>
    private OutputBatch? Encode(OutputBatch batch)
    {
        bool last = Phase == ConnectionPhase.Flushing && (_filling is null || _outputIsDiscarded);
        for (ConnectionFilter? filter = _innermostFilter; filter is not null; filter = filter.Outer)
        {
            OutputBatch encoded = Reactor.Batches.Rent(this);
            try
            {
                filter.Encode(batch, encoded);
                if (last)
                {
                    filter.EncodeEnd(encoded);
                }
            }
#pragma warning disable CA1031 // A filter's exception ends its connection, never the reactor.
            catch (Exception error)
#pragma warning restore CA1031
            {
                Reactor.Batches.Return(encoded);
                Reactor.Batches.Return(batch);
                Fail(error);
                return null;
            }

            Reactor.Batches.Return(batch);
            batch = encoded;
        }

        return batch;
    }

    private unsafe void SubmitSend()
    {
        _sendInFlight = true;
        _operationsInFlight++;
        OperationToken token = Token(OperationKind.Send);
        if (_sending!.HasPages && (_takesPages || !_sending.FirstPagesAreMapped))
        {
            SendPages(token);
            return;
        }

        long most = _listener!.SendBytesMax;
        bool isOnePart = _sending!.TryGetSinglePart(out byte* data, out nuint bytes) || _sending.Bytes > most;
        bytes = (nuint)Math.Min((long)bytes, most);
        _sendIsZeroCopy = !_copiesSends && (isOnePart ? (long)bytes : _sending.Bytes) >= Backend.ZeroCopyBytesLeast;
        switch (isOnePart, _sendIsZeroCopy)
        {
            case (true, false):
                Backend.SubmitSend(token, _socket, data, bytes);
                break;
            case (false, false):
                Backend.SubmitSendMessage(token, _socket, _sending.AsMessage());
                break;
            case (true, true):
                Backend.SubmitZeroCopySend(token, _socket, data, bytes);
                break;
            case (false, true):
                Backend.SubmitZeroCopySendMessage(token, _socket, _sending.AsMessage());
                break;
        }
    }

    private void FinishSend()
    {
        Reactor.Batches.Return(_sending!);
        _sending = null;
        EndSendCheck();
        Observer?.OnTransferred(this);
        if (_flushRequested || _filterSendRequested)
        {
            QueueFlush();
        }

        EndFlushIfDone();
    }

    private void EndFlushIfDone()
    {
        if (IsFlushPending && IsFlushDone)
        {
            _flush!.Complete(FlushResult);
        }
    }

    /// <summary>Accounts for bytes of the batch that the kernel has taken.</summary>
    private void TakeSent(long bytes)
    {
        _sentBytes += bytes;
        Reactor.Counters.BytesSent += bytes;
        _sending!.Consume(bytes);
    }

    /// <summary>The output is lost: drops what the kernel does not hold.</summary>
    private void BreakOutput()
    {
        _outputBroken = true;
        _filterSendRequested = false;
        DropOutput();
        EndFlushIfDone();
    }

    private void DropOutput()
    {
        if (_sending is not null && !_sendInFlight)
        {
            _takenBytes = TransferredBytes;
            Reactor.Batches.Return(_sending);
            _sending = null;
        }

        DropFilling();
    }

    private void DropFilling()
    {
        if (_filling is not null && !_fileReadInFlight)
        {
            Reactor.Batches.Return(_filling);
            _filling = null;
        }
    }
}
