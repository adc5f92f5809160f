using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>Receiving: moves the peer's bytes into the application's input.</content>
internal sealed partial class TransportConnection
{
    /// <summary>
    /// Bytes requested from the pipe at a time: a block of the pool. A head that arrives in one piece stays contiguous, which parses
    /// fastest.
    /// </summary>
    private const int PieceBytesMax = 4096;

    private bool _isReportingClosed;

    /// <summary>Continuations run on the thread that ran the callbacks, on the thread pool, after them.</summary>
    private readonly TaskCompletionSource _closedReported = new();

    private async Task ReceiveAsync()
    {
        Exception? error = null;
        try
        {
            error = await Prefetched(ReceiveToEndAsync(), ReceiveLoop, CompletionKinds.Received);
        }
#pragma warning disable CA1031 // Any exception ends this connection, and is passed to the application.
        catch (Exception unexpected)
#pragma warning restore CA1031
        {
            error = unexpected;
            _log.Unexpected("receiving", ConnectionId, unexpected);
            BeginEnd(EndKind.Reset, unexpected);
        }

        try
        {
            await EndReceivingAsync(error);
        }
#pragma warning disable CA1031 // As above; continuations of the application run inside, and may throw.
        catch (Exception unexpected)
#pragma warning restore CA1031
        {
            _log.Unexpected("ending the input", ConnectionId, unexpected);
            BeginEnd(EndKind.Reset, unexpected);
        }

        BeginReportClosed();
    }

    private async Task EndReceivingAsync(Exception? error)
    {
        _input?.NoteInput();
        await _received.CompleteAsync(_end?.Reason ?? error);
        if (error is null && _end is null)
        {
            await WaitForPeersEndAsync();
        }
    }

    /// <summary>
    /// The input may end with TLS's close_notify from a peer that still reads the response: the connection counts as closed when the socket
    /// says so, or when this side has ended it.
    /// </summary>
    private async Task WaitForPeersEndAsync()
    {
        if (await _connection.Reader.ReadPeersEndAsync() == ReadOutcome.Reset && _end is null)
        {
            _ = ReportedFault();
        }
    }

    /// <summary>The result is the error that the application sees at the end of the input; null for an orderly end.</summary>
    private async Task<Exception?> ReceiveToEndAsync()
    {
        // This side may end the connection during either wait, or between a wait's end and its continuation.
        while (_end is null)
        {
            ReadOutcome outcome = await _connection.ReadAsync();
            _isCopyingInput = true;
            if (_end is not null)
            {
                break;
            }

            if (outcome == ReadOutcome.End)
            {
                _log.ConnectionReadFin(ConnectionId);
                return null;
            }

            if (outcome != ReadOutcome.Data)
            {
                return ReportedFault();
            }

            try
            {
                CopyInput();
            }
            finally
            {
                _isCopyingInput = false;
            }

            _input?.NoteInput();
            FlushResult flushed = await FlushInputAsync();
            if (!_reactor.IsReactorThread)
            {
                // The reactor has ended meanwhile, and with it the connection, which nothing else had ended.
                return new ConnectionResetException("The connection was reset: its reactor has ended.");
            }

            if (flushed.IsCompleted || flushed.IsCanceled)
            {
                break;
            }
        }

        return null;
    }

    private void CopyInput()
    {
        ReadOnlySpan<byte> input = _connection.Input;
        int count = input.Length;
        while (input.Length > 0)
        {
            int piece = Math.Min(input.Length, PieceBytesMax);
            input[..piece].CopyTo(_received.GetSpan(piece));
            _received.Advance(piece);
            input = input[piece..];
        }

        _connection.Consume(count);
    }

    /// <summary>While the pipe is full nothing is read, so that the engine stops receiving.</summary>
    private ValueTask<FlushResult> FlushInputAsync()
    {
        ValueTask<FlushResult> flush = _received.FlushAsync();
        return flush.IsCompleted ? flush : WaitAsync(flush);

        async ValueTask<FlushResult> WaitAsync(ValueTask<FlushResult> pending)
        {
            _log.ConnectionPause(ConnectionId);
            FlushResult flushed = await pending;
            _log.ConnectionResume(ConnectionId);
            return flushed;
        }
    }

    /// <summary>
    /// Runs once, on the thread pool: the callbacks belong to the application and would stall the reactor. Only disposal waits for them;
    /// the engine's connection ends on the reactor without them. Any thread.
    /// </summary>
    private void BeginReportClosed()
    {
        if (!Interlocked.Exchange(ref _isReportingClosed, true))
        {
            ThreadPool.UnsafeQueueUserWorkItem(static connection => connection.ReportClosed(), this, preferLocal: false);
        }
    }

    private void ReportClosed()
    {
        try
        {
            _closed.Cancel();
        }
#pragma warning disable CA1031 // An exception of a callback must not keep the connection open.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _log.Unexpected("a callback of ConnectionClosed", ConnectionId, error);
        }

        _closedReported.SetResult();
    }
}
