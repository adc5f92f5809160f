using System.Buffers;
using System.IO.Pipelines;
using System.Runtime.CompilerServices;

namespace Millrace.Engine.Pipes;

/// <summary>
/// A connection's output as a <see cref="PipeWriter"/>, write-behind: a flush completes at once while no more than
/// <see cref="Limits.PipeUnsentBytes"/> are unsent, and waits above it. All but <see cref="CancelPendingFlush"/> on the
/// reactor's thread.
/// </summary>
internal sealed class ConnectionPipeWriter(Connection connection) : PipeWriter
{
    /// <summary>A size that suits one read of a stream.</summary>
    private const int BufferBytesMin = 4096;

    private static readonly Action<object?> CancelOnReactor = static state => ((ConnectionPipeWriter)state!).EndWaitForCancellation();

    /// <summary>Identifies the connection: a late caller must not write to the next peer or end its wait.</summary>
    private readonly uint _generation = connection.Generation;

    /// <summary>
    /// The memory of <see cref="GetMemory"/>, which the caller may fill across an await. The output's own blocks cannot be used for that:
    /// they are sent with an earlier flush, or dropped with the connection, and reused. So it is copied.
    /// </summary>
    private byte[] _buffer = [];
    private bool _usesBuffer;
    private bool _isCompleted;
    private volatile bool _cancelRequested;

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes
    {
        get
        {
            connection.Handler.AssertRunning(_generation);
            return connection.Writer.UnflushedBytes;
        }
    }

    public override Span<byte> GetSpan(int sizeHint = 0)
    {
        AssertWritable();
        _usesBuffer = false;
        return connection.GetSpan(sizeHint);
    }

    public override Memory<byte> GetMemory(int sizeHint = 0)
    {
        AssertWritable();
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        connection.Reactor.AssertReactorThread();
        int bytes = Math.Max(sizeHint, BufferBytesMin);
        if (_buffer.Length < bytes)
        {
            // A smaller buffer is left to the collector: its user may have a read into it in progress.
            _buffer = ArrayPool<byte>.Shared.Rent(bytes);
        }

        _usesBuffer = true;
        return _buffer;
    }

    public override void Advance(int bytes)
    {
        connection.Handler.AssertRunning(_generation);
        if (!_usesBuffer)
        {
            connection.Advance(bytes);
            return;
        }

        ArgumentOutOfRangeException.ThrowIfNegative(bytes);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bytes, _buffer.Length);
        connection.Write(_buffer.AsSpan(0, bytes));
        _usesBuffer = false;
    }

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        AssertWritable();
        cancellationToken.ThrowIfCancellationRequested();
        if (_cancelRequested)
        {
            _cancelRequested = false;
            connection.Flush();
            return new ValueTask<FlushResult>(new FlushResult(isCanceled: true, isCompleted: false));
        }

        ValueTask<FlushOutcome> flush = connection.FlushAsync(connection.Reactor.Limits.PipeUnsentBytes);
        return flush.IsCompletedSuccessfully
            ? new ValueTask<FlushResult>(Translate(flush.Result))
            : WaitAsync(flush, cancellationToken);
    }

    public override void CancelPendingFlush()
    {
        _cancelRequested = true;
        connection.Reactor.Post(CancelOnReactor, this);
    }

    /// <summary>Sends what remains. The peer sees the end when the handler returns; with an exception the connection is reset.</summary>
    public override void Complete(Exception? exception = null)
    {
        if (_isCompleted)
        {
            return;
        }

        _isCompleted = true;
        if (_buffer.Length > 0 && !_usesBuffer)
        {
            ArrayPool<byte>.Shared.Return(_buffer);
        }

        _buffer = [];
        if (!connection.Handler.IsRunningFor(_generation))
        {
            // As for a reader.
            return;
        }

        if (exception is null)
        {
            connection.Flush();
        }
        else
        {
            connection.Abort();
        }
    }

    private static FlushResult Translate(FlushOutcome outcome) => new(isCanceled: false, isCompleted: outcome == FlushOutcome.Closed);

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<FlushResult> WaitAsync(ValueTask<FlushOutcome> flush, CancellationToken cancellationToken)
    {
        FlushOutcome outcome;
        await using (cancellationToken.UnsafeRegister(static state => ((ConnectionPipeWriter)state!).CancelPendingFlush(), this))
        {
            outcome = await flush;
        }

        // Disposing of the registration waits for a cancellation in progress on another thread, and resumes there.
        await connection.Reactor.SwitchTo();
        if (!_cancelRequested)
        {
            return Translate(outcome);
        }

        _cancelRequested = false;
        cancellationToken.ThrowIfCancellationRequested();
        return new FlushResult(isCanceled: true, isCompleted: outcome == FlushOutcome.Closed);
    }

    private void EndWaitForCancellation()
    {
        if (_cancelRequested && connection.Generation == _generation)
        {
            connection.Writer.TryEndFlush();
        }
    }

    private void AssertWritable()
    {
        if (_isCompleted)
        {
            throw new InvalidOperationException("Writing is not allowed after the writer was completed.");
        }

        connection.Handler.AssertRunning(_generation);
    }
}
