using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>Sending: passes the application's output to the peer, straight from the pipe's memory.</content>
internal sealed partial class TransportConnection
{
    /// <summary>
    /// Blocks of the pool are always pinned, and their handles are free; larger pieces are pinned while the kernel reads them.
    /// </summary>
    private readonly List<MemoryHandle> _pins = new(capacity: 1);

    private async Task SendAsync()
    {
        Exception? error = null;
        try
        {
            await Prefetched(SendToEndAsync(), SendLoop, CompletionKinds.Either);
        }
        catch (ObjectDisposedException) when (_reactor.HasEnded)
        {
            // No reactor is left to send.
        }
#pragma warning disable CA1031 // Any exception ends this connection, and is passed to the application.
        catch (Exception unexpected)
#pragma warning restore CA1031
        {
            error = unexpected;
            Unpin();
            _log.Unexpected("sending", ConnectionId, unexpected);
            BeginEnd(EndKind.Reset, unexpected);
        }

        BeginEnd(EndKind.Orderly, new ConnectionAbortedException("The transport's send loop completed gracefully."));
        try
        {
            // A further write learns the error from its flush.
            await _toSend.CompleteAsync(error);
        }
#pragma warning disable CA1031 // As above; continuations of the application run inside, and may throw.
        catch (Exception unexpected)
#pragma warning restore CA1031
        {
            _log.Unexpected("ending the output", ConnectionId, unexpected);
        }
    }

    private async Task SendToEndAsync()
    {
        while (true)
        {
            ReadResult result = await _toSend.ReadAsync();
            if (result.IsCanceled)
            {
                return;
            }

            ReadOnlySequence<byte> bytes = result.Buffer;
            ReadOnlySequence<byte> left = _reactor.IsReactorThread ? bytes : bytes.Slice(_connection.DirectSender.Send(bytes));
            if (!left.IsEmpty)
            {
                await _reactor.SwitchTo();
                WriteReferences(left);
                FlushOutcome outcome = await _connection.FlushAsync();
                Unpin();
                if (outcome == FlushOutcome.Closed)
                {
                    // Not a fault if this side ended the connection.
                    if (_end is null)
                    {
                        BeginEnd(EndKind.Reset, ReportedFault());
                    }

                    return;
                }
            }

            _toSend.AdvanceTo(bytes.End);
            if (result.IsCompleted)
            {
                return;
            }
        }
    }

    private unsafe void WriteReferences(in ReadOnlySequence<byte> bytes)
    {
        foreach (ReadOnlyMemory<byte> segment in bytes)
        {
            MemoryHandle pin = segment.Pin();
            _pins.Add(pin);
            _connection.WriteReference((byte*)pin.Pointer, segment.Length);
        }
    }

    private void Unpin()
    {
        foreach (MemoryHandle pin in _pins)
        {
            pin.Dispose();
        }

        _pins.Clear();
    }

}
