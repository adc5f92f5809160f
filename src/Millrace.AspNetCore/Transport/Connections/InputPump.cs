using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Millrace.AspNetCore.Transport.Scheduling;
using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>Receives: moves the peer's bytes into the application's input. Reactor thread, but for <see cref="Break"/>.</summary>
internal sealed class InputPump(
    TransportConnection owner,
    Connection connection,
    PipeWriter pipe,
    ReactorPipeReader? reader,
    TransportEnding ending,
    TransportLog log)
{
    /// <summary>
    /// Bytes requested from the pipe at a time: a block of the pool. A head that arrives in one piece stays contiguous, which parses
    /// fastest.
    /// </summary>
    private const int PieceBytesMax = 4096;

    /// <summary>Whether received bytes are being copied into the pipe; no application code runs meanwhile.</summary>
    private volatile bool _isCopying;

    public async Task RunAsync()
    {
        Task<Exception?> loop = ReceiveToEndAsync();
        connection.AddToPrefetch(loop, PrefetchRanges.ReceiveLoop, CompletionKinds.Received);
        Exception? error = await ending.GuardAsync(loop, "receiving");
        error = loop.IsCompletedSuccessfully ? await loop : error;
        await ending.GuardAsync(EndAsync(error), "ending the input");
        ending.BeginReportClosed();
    }

    /// <summary>
    /// Ends the input in place of the reactor, which is blocked by a wait for it. Called after the connection's end has been requested; the
    /// watchdog's thread.
    /// </summary>
    public void Break(Exception error)
    {
        // The process-wide barrier orders the end (requested before) before the read of _isCopying for both threads: if the reactor has
        // resumed and is about to copy input into the pipe, which must not be completed then, it sees the end.
        Interlocked.MemoryBarrierProcessWide();
        if (!_isCopying)
        {
            pipe.Complete(error);
        }
    }

    /// <summary>The result is the error that the application sees at the end of the input; null for an orderly end.</summary>
    private async Task<Exception?> ReceiveToEndAsync()
    {
        // This side may end the connection during either wait, or between a wait's end and its continuation.
        while (!ending.HasBegun)
        {
            ReadOutcome outcome = await connection.ReadAsync();
            _isCopying = true;
            if (ending.HasBegun)
            {
                break;
            }

            if (outcome == ReadOutcome.End)
            {
                log.ConnectionReadFin(owner.ConnectionId);
                return null;
            }

            if (outcome != ReadOutcome.Data)
            {
                return ending.ReportFault();
            }

            try
            {
                Copy();
            }
            finally
            {
                _isCopying = false;
            }

            reader?.NoteInput();
            FlushResult flushed = await FlushAsync();
            if (!connection.Reactor.IsReactorThread)
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

    private void Copy()
    {
        ReadOnlySpan<byte> input = connection.Input;
        int count = input.Length;
        while (input.Length > 0)
        {
            int piece = Math.Min(input.Length, PieceBytesMax);
            input[..piece].CopyTo(pipe.GetSpan(piece));
            pipe.Advance(piece);
            input = input[piece..];
        }

        connection.Consume(count);
    }

    /// <summary>While the pipe is full nothing is read, so that the engine stops receiving.</summary>
    private ValueTask<FlushResult> FlushAsync()
    {
        ValueTask<FlushResult> flush = pipe.FlushAsync();
        return flush.IsCompleted ? flush : WaitAsync(flush);

        async ValueTask<FlushResult> WaitAsync(ValueTask<FlushResult> pending)
        {
            log.ConnectionPause(owner.ConnectionId);
            FlushResult flushed = await pending;
            log.ConnectionResume(owner.ConnectionId);
            return flushed;
        }
    }

    /// <summary>
    /// The input may end with TLS's close_notify from a peer that still reads the response: the connection counts as closed when the socket
    /// says so, or when this side has ended it.
    /// </summary>
    private async Task EndAsync(Exception? error)
    {
        reader?.NoteInput();
        await pipe.CompleteAsync(ending.Reason ?? error);
        if (error is null && !ending.HasBegun && await connection.Reader.ReadPeersEndAsync() == ReadOutcome.Reset && !ending.HasBegun)
        {
            _ = ending.ReportFault();
        }
    }
}
