using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>What the peer sends, into the application's input.</content>
internal sealed partial class TransportConnection
{
    /// <summary>
    /// Room asked for at a time: a block of the pool. A head that came in one piece stays in one, which is parsed fastest.
    /// </summary>
    private const int PieceBytesMax = 4096;

    private bool _isTellingClosed;

    /// <summary>Whoever waits for it goes on where the callbacks ran: on the thread pool, and last.</summary>
    private readonly TaskCompletionSource _closedWasTold = new();

    private async Task ReceiveAsync()
    {
        Exception? error = null;
        try
        {
            error = await Foreseen(ReceiveToEndAsync(), ReceiveLoop, Occasion.Received);
        }
#pragma warning disable CA1031 // Whatever it is ends this connection, and is told to the application.
        catch (Exception unexpected)
#pragma warning restore CA1031
        {
            error = unexpected;
            _log.Unexpected("receiving", ConnectionId, unexpected);
        }

        _input?.NoteInput();
        await _received.CompleteAsync(_end?.Reason ?? error);
        if (error is null && _end is null)
        {
            await PeersEndAsync();
        }

        BeginTellClosed();
    }

    /// <summary>
    /// The input may have ended by the peer's last word (TLS's close_notify), who still takes the answer: the connection is closed when the
    /// socket says so, or when we have ended it.
    /// </summary>
    private async Task PeersEndAsync()
    {
        if (await _connection.ReadPeersEndAsync() == ReadOutcome.Reset && _end is null)
        {
            _ = ToldFault();
        }
    }

    /// <summary>The result is what the application is to see of the end: nothing where it was in order.</summary>
    private async Task<Exception?> ReceiveToEndAsync()
    {
        // Our own end may come during either wait, or between one's end and what follows it.
        while (_end is null)
        {
            ReadOutcome outcome = await _connection.ReadAsync();
            _isTaking = true;
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
                return ToldFault();
            }

            TakeInput();
            _isTaking = false;
            _input?.NoteInput();
            FlushResult flushed = await FlushInputAsync();
            if (!_reactor.IsHome)
            {
                // It has ended meanwhile, and the connection with it, which nobody else had ended.
                return new ConnectionResetException("The connection was reset: its reactor has ended.");
            }

            if (flushed.IsCompleted || flushed.IsCanceled)
            {
                break;
            }
        }

        return null;
    }

    private void TakeInput()
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

    /// <summary>While the application has enough nothing is read, so that the engine stops receiving.</summary>
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
    /// Once, by whoever comes first, on the thread pool: the callbacks are the application's, and would hold up the reactor. Only who
    /// disposes waits for them: the engine's connection ends at home without. Any thread.
    /// </summary>
    private void BeginTellClosed()
    {
        if (!Interlocked.Exchange(ref _isTellingClosed, true))
        {
            ThreadPool.UnsafeQueueUserWorkItem(static connection => connection.TellClosed(), this, preferLocal: false);
        }
    }

    private void TellClosed()
    {
        try
        {
            _closed.Cancel();
        }
#pragma warning disable CA1031 // What a callback throws is its owner's fault, and no reason to keep the connection.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _log.Unexpected("a callback of ConnectionClosed", ConnectionId, error);
        }

        _closedWasTold.SetResult();
    }
}
