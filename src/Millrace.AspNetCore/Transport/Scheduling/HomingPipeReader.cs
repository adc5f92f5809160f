using System.IO.Pipelines;
using System.Threading.Tasks.Sources;
using Millrace.Engine;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// A pipe's reader whose waits all end on one reactor. A pipe's own reader goes on where it is called when there is data already, so
/// that a request loop whose handler awaited something foreign would stay away for as long as the peer is ahead of it.
/// </summary>
/// <param name="inner">The reader of a pipe that schedules its reader on the reactor.</param>
/// <param name="reactor">Home.</param>
internal sealed class HomingPipeReader(PipeReader inner, Reactor reactor) : PipeReader, IValueTaskSource<ReadResult>
{
    private static readonly Action<object?> ArriveHome = static reader => ((HomingPipeReader)reader!).Arrive();

    private ManualResetValueTaskSourceCore<ReadResult> _arrival;
    private ValueTask<ReadResult> _away;
    private Action? _arrive;

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        ValueTask<ReadResult> read = inner.ReadAsync(cancellationToken);
        if (reactor.IsHome)
        {
            return read;
        }

        _away = read;
        _arrival.Reset();
        return new ValueTask<ReadResult>(this, _arrival.Version);
    }

    public override bool TryRead(out ReadResult result) => inner.TryRead(out result);

    public override void AdvanceTo(SequencePosition consumed) => inner.AdvanceTo(consumed);

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined) => inner.AdvanceTo(consumed, examined);

    public override void CancelPendingRead() => inner.CancelPendingRead();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    /// <summary>The way home begins only here, when whoever waits has left: had it ended before, he would just go on.</summary>
    void IValueTaskSource<ReadResult>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        _arrival.OnCompleted(continuation, state, token, flags);
        if (_away.IsCompleted)
        {
            reactor.PostContinuation(ArriveHome, this);
        }
        else
        {
            _away.ConfigureAwait(false).GetAwaiter().UnsafeOnCompleted(_arrive ??= Arrive);
        }
    }

    ReadResult IValueTaskSource<ReadResult>.GetResult(short token) => _arrival.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<ReadResult>.GetStatus(short token) => _arrival.GetStatus(token);

    private void Arrive()
    {
        ValueTask<ReadResult> read = _away;
        _away = default;
        ReadResult result;
        try
        {
            result = read.GetAwaiter().GetResult();
        }
#pragma warning disable CA1031 // Whatever ended the read is told to whoever waits for it.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _arrival.SetException(error);
            return;
        }

        _arrival.SetResult(result);
    }
}
