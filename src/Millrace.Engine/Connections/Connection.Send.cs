using Millrace.Engine.Backends;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;
using Millrace.Engine.Stages;
using Millrace.Interop;

namespace Millrace.Engine;

/// <content>Output on its way to the kernel: one batch at a time, through the stages, until the last byte is taken.</content>
public sealed partial class Connection
{
    private OutputBatch? _sending;
    private bool _flushQueued;
    private bool _sendInFlight;
    private long _sentBytes;

    /// <summary>The turn ends: what was flushed in it goes out as one send.</summary>
    internal void SendFlushed()
    {
        _flushQueued = false;
        bool isOfHandler = _flushRequested && _filling is not null && !_fileReadInFlight;
        if (_sending is not null || !(isOfHandler || _stageSendRequested))
        {
            return;
        }

        _flushRequested &= !isOfHandler;
        _stageSendRequested = false;
        if (_outputBroken || Phase >= ConnectionPhase.Closing)
        {
            BreakOutput();
            Progress();
            return;
        }

        OutputBatch plain = isOfHandler ? _filling! : Reactor.RentBatch();
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
            WatchSend();
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
            // It was the notice that came after the end.
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
            // The kernel is short of memory: at once it would be again.
            RetrySendLater();
            return;
        }
        else if (-result is not (0 or Errno.EINTR))
        {
            // ECANCELED here is our own close; EPIPE and ECONNRESET are the peer's.
            NoteFault(ToldElsewhere(-result));
            BreakOutput();
            Progress();
            return;
        }

        if (_sending!.Bytes > 0)
        {
            // Cut short: by a bound, by a signal, or by an error that the next attempt will name.
            if (Phase == ConnectionPhase.Closing)
            {
                BreakOutput();
            }
            else
            {
                WatchSend();
                SubmitSend();
            }
        }
        else
        {
            FinishSend();
        }

        Progress();
    }

    /// <summary>The batch as it leaves the outermost stage; null when a stage failed, and with it the connection.</summary>
    private OutputBatch? Encode(OutputBatch batch)
    {
        bool last = Phase == ConnectionPhase.Flushing && (_filling is null || _outputIsVain);
        for (ConnectionStage? stage = _innermostStage; stage is not null; stage = stage.Outer)
        {
            OutputBatch encoded = Reactor.RentBatch();
            try
            {
                stage.Encode(batch, encoded);
                if (last)
                {
                    stage.EncodeEnd(encoded);
                }
            }
#pragma warning disable CA1031 // Whatever a stage throws is its connection's end, never the reactor's.
            catch (Exception error)
#pragma warning restore CA1031
            {
                Reactor.ReturnBatch(encoded);
                Reactor.ReturnBatch(batch);
                Fail(error);
                return null;
            }

            Reactor.ReturnBatch(batch);
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
        Reactor.ReturnBatch(_sending!);
        _sending = null;
        EndWatchOfSend();
        Witness?.OnHandedOver(this);
        if (_flushRequested || _stageSendRequested)
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

    /// <summary>The kernel has taken so many bytes of the batch.</summary>
    private void TakeSent(long bytes)
    {
        _sentBytes += bytes;
        Reactor.Counters.BytesSent += bytes;
        _sending!.Consume(bytes);
    }

    /// <summary>Nothing written can reach the peer any more; what the kernel does not hold is dropped.</summary>
    private void BreakOutput()
    {
        _outputBroken = true;
        _stageSendRequested = false;
        DropOutput();
        EndFlushIfDone();
    }

    private void DropOutput()
    {
        if (_sending is not null && !_sendInFlight)
        {
            _takenBytes = HandedBytes;
            Reactor.ReturnBatch(_sending);
            _sending = null;
        }

        DropFilling();
    }

    private void DropFilling()
    {
        if (_filling is not null && !_fileReadInFlight)
        {
            Reactor.ReturnBatch(_filling);
            _filling = null;
        }
    }
}
