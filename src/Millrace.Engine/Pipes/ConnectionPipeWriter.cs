using System.IO.Pipelines;

namespace Millrace.Engine.Pipes;

/// <summary>
/// A connection's output as a <see cref="PipeWriter"/>, write-behind: a flush completes at once while no more than
/// <see cref="Limits.PipeUnsentBytes"/> are unsent, and waits above it. All but <see cref="CancelPendingFlush"/> on the
/// reactor's thread.
/// </summary>
#pragma warning disable CA1001 // The memory manager is disposable by its base class, and owns nothing.
internal sealed class ConnectionPipeWriter(Connection connection) : PipeWriter
#pragma warning restore CA1001
{
    private static readonly Action<object?> CancelHome = static state => ((ConnectionPipeWriter)state!).EndWaitForCancellation();

    private readonly NativeMemoryManager _memory = new();
    private readonly uint _tenant = connection.Generation;
    private bool _isCompleted;
    private volatile bool _cancelRequested;

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes => connection.UnflushedBytes;

    public override Span<byte> GetSpan(int sizeHint = 0)
    {
        ThrowIfCompleted();
        return connection.GetSpan(sizeHint);
    }

    public override unsafe Memory<byte> GetMemory(int sizeHint = 0)
    {
        Span<byte> span = GetSpan(sizeHint);
        // Native memory: it does not move when the pin ends.
        fixed (byte* address = span)
        {
            return _memory.PointAt(address, span.Length);
        }
    }

    public override void Advance(int bytes) => connection.Advance(bytes);

    public override ValueTask<FlushResult> FlushAsync(CancellationToken cancellationToken = default)
    {
        ThrowIfCompleted();
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
        connection.Reactor.Post(CancelHome, this);
    }

    /// <summary>Sends the rest. The peer sees the end when the handler returns; with an exception the connection is reset.</summary>
    public override void Complete(Exception? exception = null)
    {
        if (_isCompleted)
        {
            return;
        }

        _isCompleted = true;
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

    private async ValueTask<FlushResult> WaitAsync(ValueTask<FlushOutcome> flush, CancellationToken cancellationToken)
    {
        CancellationTokenRegistration registration =
            cancellationToken.UnsafeRegister(static state => ((ConnectionPipeWriter)state!).CancelPendingFlush(), this);
        FlushOutcome outcome = await flush;
        // Not awaited: a callback that is just running would be waited for, and that wait ends on another thread.
        registration.Unregister();
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
        if (_cancelRequested && connection.Generation == _tenant)
        {
            connection.TryEndFlush();
        }
    }

    private void ThrowIfCompleted()
    {
        if (_isCompleted)
        {
            throw new InvalidOperationException("Writing is not allowed after the writer was completed.");
        }
    }
}
