using System.Threading.Tasks.Sources;
using Microsoft.AspNetCore.Connections;
using Millrace.AspNetCore.Multiplexed.Streams;

namespace Millrace.AspNetCore.Multiplexed.Connections;

/// <summary>
/// The streams that a client has opened, until Kestrel's loop takes them. Their number is bounded by the connection. Filled on the
/// reactor's thread; one consumer, on any thread.
/// </summary>
/// <param name="continuesOnPool">Whether the consumer continues on the thread pool, not inline on the reactor.</param>
internal sealed class AcceptedStreams(bool continuesOnPool) : IValueTaskSource<ConnectionContext?>
{
    private readonly Lock _lock = new();
    private readonly Queue<StreamConnection> _streams = new();
    private ManualResetValueTaskSourceCore<ConnectionContext?> _take;
    private CancellationToken _cancellation;
    private CancellationTokenRegistration _registration;
    private Exception? _end;
    private bool _isTaking;
    private bool _isWoken;

    /// <summary>Whether <see cref="TryEnd"/> was called. Any thread.</summary>
    public bool HasEnded => Volatile.Read(ref _end) is not null;

    /// <summary>The next stream; null when the wait is canceled, or by <see cref="Wake"/>.</summary>
    /// <exception cref="Exception">The connection has ended: what <see cref="TryEnd"/> was given.</exception>
    public ValueTask<ConnectionContext?> TakeAsync(CancellationToken cancellation)
    {
        lock (_lock)
        {
            if (_end is not null)
            {
                return ValueTask.FromException<ConnectionContext?>(_end);
            }

            if (cancellation.IsCancellationRequested)
            {
                return default;
            }

            if (_streams.TryDequeue(out StreamConnection? stream))
            {
                return new ValueTask<ConnectionContext?>(stream);
            }

            if (_isWoken)
            {
                _isWoken = false;
                return default;
            }

            _take.Reset();
            _isTaking = true;
        }

        var take = new ValueTask<ConnectionContext?>(this, _take.Version);
        if (cancellation != _cancellation)
        {
            // Kestrel passes the same token with each call, until it cancels it.
            _registration.Unregister();
            _cancellation = cancellation;
            _registration = cancellation.UnsafeRegister(static streams => ((AcceptedStreams)streams!).Cancel(), this);
        }

        return take;
    }

    public void Add(StreamConnection stream)
    {
        lock (_lock)
        {
            if (!_isTaking)
            {
                _streams.Enqueue(stream);
                return;
            }

            _isTaking = false;
        }

        _take.RunContinuationsAsynchronously = continuesOnPool;
        _take.SetResult(stream);
    }

    /// <summary>The connection has ended, for this reason. False: it had before. Any thread.</summary>
    public bool TryEnd(Exception reason)
    {
        bool isTaking;
        lock (_lock)
        {
            if (_end is not null)
            {
                return false;
            }

            _end = reason;
            _streams.Clear();
            isTaking = _isTaking;
            _isTaking = false;
        }

        if (isTaking)
        {
            _take.RunContinuationsAsynchronously = true;
            _take.SetException(reason);
        }

        return true;
    }

    /// <summary>Has the wait, or else the next one, give null. Any thread.</summary>
    public void Wake()
    {
        lock (_lock)
        {
            _isWoken = true;
        }

        Cancel();
    }

    ConnectionContext? IValueTaskSource<ConnectionContext?>.GetResult(short token) => _take.GetResult(token);

    ValueTaskSourceStatus IValueTaskSource<ConnectionContext?>.GetStatus(short token) => _take.GetStatus(token);

    void IValueTaskSource<ConnectionContext?>.OnCompleted(
        Action<object?> continuation, object? state, short token, ValueTaskSourceOnCompletedFlags flags) =>
        _take.OnCompleted(continuation, state, token, flags);

    private void Cancel()
    {
        lock (_lock)
        {
            if (!_isTaking)
            {
                return;
            }

            _isWoken = false;
            _isTaking = false;
        }

        _take.RunContinuationsAsynchronously = true;
        _take.SetResult(null);
    }
}
