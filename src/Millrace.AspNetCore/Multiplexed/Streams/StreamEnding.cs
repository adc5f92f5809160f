using System.Threading.Tasks.Sources;
using Microsoft.AspNetCore.Connections.Features;

namespace Millrace.AspNetCore.Multiplexed.Streams;

/// <summary>
/// Reports the end of a stream: first to the callbacks, when both pumps have ended, then to its disposal, when the stream is over. Advanced
/// on the reactor's thread, asked on any.
/// </summary>
#pragma warning disable CA1001 // The source has no timer and no wait handle: nothing of it is to be disposed of.
internal sealed class StreamEnding(StreamConnection owner) : IStreamClosedFeature, IValueTaskSource
#pragma warning restore CA1001
{
    private static readonly Action<object?> BeginWaitAction = static ending =>
        ((StreamEnding)ending!)._owner.Enter(static ending => ((StreamEnding)ending!).BeginWait(), ending);

    private readonly StreamConnection _owner = owner;
    private readonly Lock _lock = new();
    private List<(Action<object?> Callback, object? State)>? _callbacks;
    private CancellationTokenSource? _source;
    private ManualResetValueTaskSourceCore<bool> _over;
    private bool _isClosed;
    private bool _isOver;
    private bool _isAwaited;
    private bool _hasBegun;

    /// <summary>Canceled on the thread pool when both pumps have ended.</summary>
    public CancellationToken Closed
    {
        get
        {
            lock (_lock)
            {
                if (_source is null)
                {
                    _source = new CancellationTokenSource();
                    CancelIfClosed();
                }

                return _source.Token;
            }
        }
    }

    /// <summary>The callback runs inline if the stream has closed, else on the reactor: it must not block.</summary>
    public void OnClosed(Action<object?> callback, object? state)
    {
        lock (_lock)
        {
            if (!_isClosed)
            {
                (_callbacks ??= []).Add((callback, state));
                return;
            }
        }

        callback(state);
    }

    /// <summary>Ends the stream in order and waits for its end; completes at once on later calls.</summary>
    public ValueTask WaitAsync()
    {
        if (Interlocked.Exchange(ref _hasBegun, true))
        {
            return default;
        }

        _owner.RunOnReactor(BeginWaitAction, this);
        return new ValueTask(this, _over.Version);
    }

    /// <summary>Reports what has come about. Reactor thread.</summary>
    public void Advance()
    {
        if (!_isClosed && _owner.HaveSidesEnded)
        {
            ReportClosed();
        }

        if (_isClosed && !_isOver && _isAwaited && _owner.IsOver)
        {
            _isOver = true;
            _owner.OnOver();
            _over.RunContinuationsAsynchronously = _owner.ContinuesOnPool;
            _over.SetResult(true);
        }
    }

    /// <summary>For another stream.</summary>
    public void Reset()
    {
        _over.Reset();
        _source = null;
        _callbacks?.Clear();
        _isClosed = _isOver = _isAwaited = _hasBegun = false;
    }

    void IValueTaskSource.GetResult(short token) => _over.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource.GetStatus(short token) => _over.GetStatus(token);

    void IValueTaskSource.OnCompleted(Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _over.OnCompleted(continuation, state, token, flags);

    private void BeginWait()
    {
        _isAwaited = true;
        _owner.EndInOrder();
    }

    private void ReportClosed()
    {
        lock (_lock)
        {
            _isClosed = true;
            CancelIfClosed();
        }

        for (int i = 0; i < (_callbacks?.Count ?? 0); i++)
        {
            (Action<object?> callback, object? state) = _callbacks![i];
            _owner.Guard(callback, state);
        }
    }

    /// <summary>On the thread pool: the callbacks of a token belong to the application, and would stall the reactor.</summary>
    private void CancelIfClosed()
    {
        if (_isClosed && _source is { } source)
        {
            ThreadPool.UnsafeQueueUserWorkItem(
                static work => work.Owner.Guard(static source => ((CancellationTokenSource)source!).Cancel(), work.Source),
                (Owner: _owner, Source: source),
                preferLocal: false);
        }
    }
}
