namespace Millrace.QuicTransport;

/// <summary>
/// One stop of a listener, from its begin until the listener closes or accepts connections again, of which the first happens alone. Any
/// thread; no errors.
/// </summary>
/// <param name="reactors">The listener's.</param>
/// <param name="number">Larger than that of the stop before it.</param>
internal sealed class ListenerStop(QuicReactor[] reactors, int number)
{
    private const int Closed = 1;
    private const int Open = 2;

    private readonly TaskCompletionSource[] _drained =
        [.. reactors.Select(static _ => new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously))];

    private readonly TaskCompletionSource _resumed = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private int _end;

    public int Number => number;

    /// <summary>Completes when no connection is open.</summary>
    public Task Drained => Task.WhenAll(_drained.Select(static one => one.Task));

    /// <summary>Completes when the listener accepts connections again.</summary>
    public Task Resumed => _resumed.Task;

    /// <summary>Asks all connections to end; also a second time.</summary>
    public void Begin()
    {
        for (int i = 0; i < reactors.Length; i++)
        {
            (QuicReactor reactor, TaskCompletionSource drained) = (reactors[i], _drained[i]);
            reactor.Reactor.PostContinuation(_ => reactor.BeginStop(number, drained), null);
        }
    }

    /// <summary>True, also a second time, unless it was resumed.</summary>
    public bool TryClose() => Interlocked.CompareExchange(ref _end, Closed, 0) != Open;

    /// <summary>True once, unless it closes.</summary>
    public bool TryResume()
    {
        bool isResumed = Interlocked.CompareExchange(ref _end, Open, 0) == 0;
        if (isResumed)
        {
            _resumed.SetResult();
        }

        return isResumed;
    }
}
