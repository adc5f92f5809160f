using System.Buffers;
using System.Diagnostics;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;
using Millrace.Engine.Buffers;
using Millrace.Engine.Connections;

namespace Millrace.Engine.Pipes;

/// <summary>
/// A connection's input as a <see cref="PipeReader"/>: always one segment, held in place from a read to the advance that follows it.
/// Reactor thread, except <see cref="CancelPendingRead"/>.
/// </summary>
#pragma warning disable CA1001 // The memory manager is disposable by its base class and owns nothing.
internal sealed class ConnectionPipeReader(Connection connection) : PipeReader
#pragma warning restore CA1001
{
    private static readonly Action<object?> CancelOnReactor = static state => ((ConnectionPipeReader)state!).EndWaitForCancellation();

    /// <summary>Identifies the connection: a late caller must not take the next peer's bytes or end its wait.</summary>
    private readonly uint _generation = connection.Generation;
    private readonly NativeMemoryManager _memory = new();
    private ReadOnlySequence<byte> _shown;
    private bool _isReading;
    private bool _isCompleted;
    private volatile bool _cancelRequested;

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        cancellationToken.ThrowIfCancellationRequested();
        return TryRead(out ReadResult result) ? new ValueTask<ReadResult>(result) : WaitAsync(cancellationToken);
    }

    public override bool TryRead(out ReadResult result)
    {
        connection.Reactor.AssertReactorThread();
        connection.Handler.AssertRunning(_generation);
        if (_isCompleted || _isReading)
        {
            throw new InvalidOperationException(_isCompleted
                ? "Reading is not allowed after the reader was completed."
                : "Reading is already in progress: advance the reader first.");
        }

        if (_cancelRequested)
        {
            _cancelRequested = false;
            result = Show(isCanceled: true);
            return true;
        }

        if (connection.Reader.HasUnseen && connection.Reader.End != ReceiveEnd.Reset)
        {
            result = Show(isCanceled: false);
            return true;
        }

        if (connection.Reader.End != ReceiveEnd.None)
        {
            result = Translate(connection.Reader.End == ReceiveEnd.Finished ? ReadOutcome.End : ReadOutcome.Reset);
            return true;
        }

        result = default;
        return false;
    }

    public override void AdvanceTo(SequencePosition consumed) => AdvanceTo(consumed, consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        if (!_isReading)
        {
            throw new InvalidOperationException("There is no read to advance from.");
        }

        connection.Handler.AssertRunning(_generation);

        long consumedBytes = _shown.Slice(_shown.Start, consumed).Length;
        long examinedBytes = _shown.Slice(_shown.Start, examined).Length;
        if (examinedBytes < consumedBytes)
        {
            throw new InvalidOperationException("More was consumed than examined.");
        }

        EndReading();
        connection.Reader.Advance((int)consumedBytes, (int)examinedBytes);
    }

    public override void CancelPendingRead()
    {
        _cancelRequested = true;
        connection.Reactor.Post(CancelOnReactor, this);
    }

    public override void Complete(Exception? exception = null)
    {
        if (_isCompleted)
        {
            return;
        }

        _isCompleted = true;
        bool isHolding = _isReading;
        EndReading();
        if (!connection.Handler.IsRunningFor(_generation))
        {
            // Completing after the end is harmless, and happens when a stream is disposed of.
            return;
        }

        if (isHolding)
        {
            connection.Reader.Advance(0, 0);
        }

        if (exception is not null)
        {
            connection.Abort();
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<ReadResult> WaitAsync(CancellationToken cancellationToken)
    {
        ReadOutcome outcome;
        int seen = connection.Reader.SeenBytes;
        await using (cancellationToken.UnsafeRegister(static state => ((ConnectionPipeReader)state!).CancelPendingRead(), this))
        {
            outcome = await connection.ReadAsync();
        }

        // Disposing of the registration waits for a cancellation in progress on another thread, and resumes there.
        await connection.Reactor.SwitchTo();
        if (_cancelRequested)
        {
            _cancelRequested = false;
            if (connection.Handler.IsRunningFor(_generation))
            {
                // Bytes may have ended the wait before the cancellation: they are for the next read.
                connection.Reader.SeenBytes = seen;
            }

            cancellationToken.ThrowIfCancellationRequested();
            return Show(isCanceled: true);
        }

        return Translate(outcome);
    }

    private void EndWaitForCancellation()
    {
        if (_cancelRequested && connection.Generation == _generation)
        {
            connection.Reader.TryEndWait(ReadOutcome.Data);
        }
    }

    private ReadResult Translate(ReadOutcome outcome) => outcome switch
    {
        ReadOutcome.Reset => throw new IOException("The connection was reset."),
        ReadOutcome.TimedOut => throw new TimeoutException("The read deadline of the connection has passed."),
        _ => Show(isCanceled: false),
    };

    private unsafe ReadResult Show(bool isCanceled)
    {
        connection.Handler.AssertRunning(_generation);
        ref InputBuffer input = ref connection.Reader.Buffer;
        connection.Reader.Own();
        input.Hold();
        _isReading = true;
        connection.Reader.MarkSeen();
        _shown = new ReadOnlySequence<byte>(_memory.PointAt(input.Address, input.Count));
        return new ReadResult(_shown, isCanceled, isCompleted: connection.Reader.End == ReceiveEnd.Finished);
    }

    private void EndReading()
    {
        _isReading = false;
        _shown = default;
    }
}

/// <summary>
/// Exposes native memory as <see cref="Memory{T}"/>. Owns nothing; it is pointed to each new piece, as the pipes' contract forbids the use
/// of earlier ones.
/// </summary>
internal sealed unsafe class NativeMemoryManager : MemoryManager<byte>
{
    private byte* _address;
    private int _bytes;

    public Memory<byte> PointAt(byte* address, int bytes)
    {
        Debug.Assert(bytes >= 0);
        _address = address;
        _bytes = bytes;
        return Memory;
    }

    public override Span<byte> GetSpan() => new(_address, _bytes);

    public override MemoryHandle Pin(int elementIndex = 0)
    {
        ArgumentOutOfRangeException.ThrowIfNegative(elementIndex);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(elementIndex, _bytes);
        return new MemoryHandle(_address + elementIndex);
    }

    public override void Unpin()
    {
    }

    protected override void Dispose(bool disposing)
    {
    }
}
