using System.IO.Pipelines;
using System.Threading.Tasks.Sources;
using Millrace.Engine.Watching;

namespace Millrace.AspNetCore.Transport.Scheduling;

/// <summary>
/// A pipe's reader whose waits all end on one reactor. A pipe's own reader goes on where it is called when there is data already, so
/// that a request loop whose handler awaited something foreign would stay away for as long as the peer is ahead of it.
/// </summary>
/// <param name="inner">The reader of a pipe that schedules its reader on the reactor.</param>
/// <param name="home">The scheduler of that pipe's reader.</param>
internal sealed class HomingPipeReader(PipeReader inner, HomeScheduler home) : PipeReader, IValueTaskSource<ReadResult>
{
    private static readonly Action<object?> ArriveHome =
        static reader => ((HomingPipeReader)reader!)._home.Arrive(static reader => ((HomingPipeReader)reader!).Arrive(), reader);

    private readonly HomeScheduler _home = home;
    private volatile bool _waitsAtHome;
    private volatile bool _waitsAway;
    private long _waitBeat;
    private ManualResetValueTaskSourceCore<ReadResult> _arrival;
    private ValueTask<ReadResult> _away;
    private Action? _arrive;

    /// <summary>Whether the application waits for what only the reactor can bring. Any thread.</summary>
    public OccupantWait Wait => _waitsAtHome || _waitsAway ? _home.WaitSince(Volatile.Read(ref _waitBeat)) : OccupantWait.None;

    /// <summary>
    /// What goes on when a wait ends that was begun elsewhere, as the first of a connection is: the task of the loop that reads requests.
    /// Where <c>SslStream</c> reads, what once took the handshake.
    /// </summary>
    public object? Waiter { get; private set; }

    /// <summary>A wait that began at home is about to end. Reactor thread.</summary>
    public void NoteInput() => _waitsAtHome = false;

    public override ValueTask<ReadResult> ReadAsync(CancellationToken cancellationToken = default)
    {
        ValueTask<ReadResult> read = inner.ReadAsync(cancellationToken);
        if (_home.Reactor.IsHome)
        {
            Volatile.Write(ref _waitBeat, _home.Reactor.Pulse.Beats);
            _waitsAtHome = !read.IsCompleted;
            return read;
        }

        if (_home.IsAway)
        {
            return read;
        }

        // It may be on behalf of somebody who blocks the reactor for it: Task.Run(...).Result.
        Volatile.Write(ref _waitBeat, _home.Reactor.Pulse.Beats);
        _waitsAway = true;
        _away = read;
        _arrival.Reset();
        return new ValueTask<ReadResult>(this, _arrival.Version);
    }

    public override bool TryRead(out ReadResult result) => inner.TryRead(out result);

    public override void AdvanceTo(SequencePosition consumed)
    {
        _waitsAtHome = false;
        inner.AdvanceTo(consumed);
    }

    public override void AdvanceTo(SequencePosition consumed, SequencePosition examined)
    {
        _waitsAtHome = false;
        inner.AdvanceTo(consumed, examined);
    }

    public override void CancelPendingRead() => inner.CancelPendingRead();

    public override void Complete(Exception? exception = null) => inner.Complete(exception);

    /// <summary>The way home begins only here, when whoever waits has left: had it ended before, he would just go on.</summary>
    void IValueTaskSource<ReadResult>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags)
    {
        Waiter = state;
        _arrival.OnCompleted(continuation, state, token, flags);
        if (_away.IsCompleted)
        {
            _home.Reactor.PostMovable(ArriveHome, this);
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
        _waitsAway = false;
        _arrival.SetResultOf(read);
    }
}
