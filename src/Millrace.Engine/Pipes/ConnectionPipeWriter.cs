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
    /// <summary>As much as one read of a stream takes gladly.</summary>
    private const int LentBytesMin = 4096;

    private static readonly Action<object?> CancelHome = static state => ((ConnectionPipeWriter)state!).EndWaitForCancellation();

    /// <summary>The connection's tenant: who comes late must not write to the next one, nor end its wait.</summary>
    private readonly uint _generation = connection.Generation;

    /// <summary>
    /// What <see cref="GetMemory"/> gives, which may be filled over an await: the output's own blocks go out with what was flushed before,
    /// or are dropped with the connection, and are somebody else's then. So it is copied.
    /// </summary>
    private byte[] _lent = [];
    private bool _isLent;
    private bool _isCompleted;
    private volatile bool _cancelRequested;

    public override bool CanGetUnflushedBytes => true;

    public override long UnflushedBytes
    {
        get
        {
            connection.AssertTenant(_generation);
            return connection.UnflushedBytes;
        }
    }

    public override Span<byte> GetSpan(int sizeHint = 0)
    {
        AssertWritable();
        _isLent = false;
        return connection.GetSpan(sizeHint);
    }

    public override Memory<byte> GetMemory(int sizeHint = 0)
    {
        AssertWritable();
        ArgumentOutOfRangeException.ThrowIfNegative(sizeHint);
        connection.Reactor.AssertHome();
        int bytes = Math.Max(sizeHint, LentBytesMin);
        if (_lent.Length < bytes)
        {
            // A smaller one is left to the collector: who was given it may have a read under way into it.
            _lent = ArrayPool<byte>.Shared.Rent(bytes);
        }

        _isLent = true;
        return _lent;
    }

    public override void Advance(int bytes)
    {
        connection.AssertTenant(_generation);
        if (!_isLent)
        {
            connection.Advance(bytes);
            return;
        }

        ArgumentOutOfRangeException.ThrowIfNegative(bytes);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(bytes, _lent.Length);
        connection.Write(_lent.AsSpan(0, bytes));
        _isLent = false;
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
        if (_lent.Length > 0 && !_isLent)
        {
            ArrayPool<byte>.Shared.Return(_lent);
        }

        _lent = [];
        if (!connection.IsServing(_generation))
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

        // The end of the registration waits for a cancellation that is under way elsewhere, and resumes there.
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
            connection.TryEndFlush();
        }
    }

    private void AssertWritable()
    {
        if (_isCompleted)
        {
            throw new InvalidOperationException("Writing is not allowed after the writer was completed.");
        }

        connection.AssertTenant(_generation);
    }
}
