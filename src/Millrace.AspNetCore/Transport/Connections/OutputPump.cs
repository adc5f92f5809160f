using System.Buffers;
using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Millrace.Engine;
using Millrace.Engine.Connections;

namespace Millrace.AspNetCore.Transport.Connections;

/// <summary>
/// Sends: passes the application's output to the peer, straight from the pipe's memory. The reactor's thread, or the pool thread that wrote
/// the output; one at a time.
/// </summary>
internal sealed class OutputPump(Connection connection, PipeReader pipe, TransportEnding ending)
{
    /// <summary>
    /// Blocks of the pool are always pinned, and their handles are free; larger pieces are pinned while the kernel reads them.
    /// </summary>
    private readonly List<MemoryHandle> _pins = new(capacity: 1);

    public async Task RunAsync()
    {
        Task loop = SendToEndAsync();
        connection.AddToPrefetch(loop, PrefetchRanges.SendLoop, CompletionKinds.Either);
        Exception? error = await ending.GuardAsync(loop, "sending");
        Unpin();
        ending.Begin(EndKind.Orderly, new ConnectionAbortedException("The transport's send loop completed gracefully."));
        // A further write learns the error from its flush.
        await ending.GuardAsync(pipe.CompleteAsync(error).AsTask(), "ending the output");
    }

    private async Task SendToEndAsync()
    {
        Reactor reactor = connection.Reactor;
        while (true)
        {
            ReadResult result = await pipe.ReadAsync();
            if (result.IsCanceled)
            {
                return;
            }

            ReadOnlySequence<byte> bytes = result.Buffer;
            ReadOnlySequence<byte> left = reactor.IsReactorThread ? bytes : bytes.Slice(connection.DirectSender.Send(bytes));
            if (!left.IsEmpty)
            {
                await reactor.SwitchTo();
                WriteReferences(left);
                FlushOutcome outcome = await connection.FlushAsync();
                Unpin();
                if (outcome == FlushOutcome.Closed)
                {
                    // Not a fault if this side ended the connection.
                    if (!ending.HasBegun)
                    {
                        ending.Begin(EndKind.Reset, ending.ReportFault());
                    }

                    return;
                }
            }

            pipe.AdvanceTo(bytes.End);
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
            connection.WriteReference((byte*)pin.Pointer, segment.Length);
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
