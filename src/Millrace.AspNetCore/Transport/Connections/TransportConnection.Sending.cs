using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <content>What the application writes, to the peer: straight from the pipe's memory.</content>
internal sealed partial class TransportConnection
{
    /// <summary>
    /// Blocks of the pool are pinned from birth, and a handle to them is nothing; larger pieces are pinned while the kernel reads.
    /// </summary>
    private readonly List<MemoryHandle> _pins = new(capacity: 1);

    private async Task SendAsync()
    {
        Exception? error = null;
        try
        {
            await Foreseen(SendToEndAsync(), SendLoop, Occasion.Either);
        }
        catch (ObjectDisposedException) when (_reactor.HasEnded)
        {
            // Nobody is there to send any more.
        }
#pragma warning disable CA1031 // Whatever it is ends this connection, and is told to the application.
        catch (Exception unexpected)
#pragma warning restore CA1031
        {
            error = unexpected;
            Unpin();
            _log.Unexpected("sending", ConnectionId, unexpected);
            BeginEnd(EndKind.Reset, unexpected);
        }

        BeginEnd(EndKind.Orderly, new ConnectionAbortedException("The transport's send loop completed gracefully."));
        // Whoever writes on is told by his next flush.
        await _toSend.CompleteAsync(error);
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
            ReadOnlySequence<byte> left = _reactor.IsHome ? bytes : bytes.Slice(_connection.SendElsewhere(bytes));
            if (!left.IsEmpty)
            {
                await _reactor.SwitchTo();
                WriteReferences(left);
                FlushOutcome outcome = await _connection.FlushAsync();
                Unpin();
                if (outcome == FlushOutcome.Closed)
                {
                    // Where we ended it ourselves that is no news.
                    if (_end is null)
                    {
                        BeginEnd(EndKind.Reset, ToldFault());
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
