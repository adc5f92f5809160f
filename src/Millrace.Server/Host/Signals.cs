using System.Runtime.InteropServices;

namespace Millrace.Server.Host;

/// <summary>
/// Runs an action on a signal, on the thread that delivers signals, while the reactors keep serving: SIGHUP reloads the configuration;
/// SIGUSR1 reopens logs that were renamed (logrotate). A signal during the start is kept until the sites are open, as data read before it
/// may be outdated. Signals that arrive while another one waits are merged with it. Unlike by default, the signal never ends the process.
/// </summary>
internal sealed class QueuedSignal : IDisposable
{
    /// <summary>.NET has no name for SIGUSR1, but accepts its number, which is the same on x64 and arm64.</summary>
    public const PosixSignal User1 = (PosixSignal)10;

    private readonly PosixSignalRegistration _registration;
    private readonly Lock _lock = new();
    private Action? _action;
    private bool _isPending;
    private int _waiting;

    public QueuedSignal(PosixSignal signal) => _registration = PosixSignalRegistration.Create(signal, OnSignal);

    /// <summary>
    /// Enables the action until the result is disposed of; disposal waits for a running action, which uses objects that are disposed of
    /// next.
    /// </summary>
    public IDisposable Attach(Action action)
    {
        lock (_lock)
        {
            _action = action;
            if (_isPending)
            {
                action();
            }
        }

        return new Attachment(this);
    }

    public void Dispose() => _registration.Dispose();

    private void OnSignal(PosixSignalContext context)
    {
        context.Cancel = true;
        if (Interlocked.Exchange(ref _waiting, 1) != 0)
        {
            // The waiting signal's action begins after this signal arrived.
            return;
        }

        lock (_lock)
        {
            Volatile.Write(ref _waiting, 0);
            Action? action = Volatile.Read(ref _action);
            _isPending = action is null;
            action?.Invoke();
        }
    }

    private sealed class Attachment(QueuedSignal signal) : IDisposable
    {
        public void Dispose()
        {
            // Before the lock: a signal that waits for the lock finds no action.
            Volatile.Write(ref signal._action, null);
            lock (signal._lock)
            {
            }
        }
    }
}

/// <summary>
/// SIGTERM or SIGINT: the first one requests a drain, a later one ends the process at once, as by default. One that follows within
/// <see cref="SameSignal"/> is the first one again: <c>timeout</c> and some shells signal the process and its group. Signals are handled on
/// the thread that delivers them.
/// </summary>
internal sealed class StopSignal : IDisposable
{
    public static readonly TimeSpan SameSignal = TimeSpan.FromMilliseconds(100);

    private readonly TaskCompletionSource _requested = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly PosixSignalRegistration[] _registrations;
    private readonly Action<bool>? _endsAtOnce;
    private readonly TimeProvider _clock;
    private readonly Lock _lock = new();
    private long? _firstAt;
    private bool _mayDrain;

    /// <param name="endsAtOnce">Called before the process ends at once; true if it has been draining.</param>
    /// <param name="mayDrain">Whether there is something to drain from the beginning; otherwise the first signal ends the process.</param>
    /// <param name="clock">Scripted in tests.</param>
    public StopSignal(Action<bool>? endsAtOnce = null, bool mayDrain = true, TimeProvider? clock = null)
    {
        (_endsAtOnce, _mayDrain, _clock) = (endsAtOnce, mayDrain, clock ?? TimeProvider.System);
        _registrations =
        [
            PosixSignalRegistration.Create(PosixSignal.SIGTERM, context => context.Cancel = IsHandled()),
            PosixSignalRegistration.Create(PosixSignal.SIGINT, context => context.Cancel = IsHandled()),
        ];
    }

    public Task Requested => _requested.Task;

    /// <summary>From now on, the first signal requests a drain.</summary>
    public void MayDrain()
    {
        lock (_lock)
        {
            _mayDrain = true;
        }
    }

    public void Dispose()
    {
        foreach (PosixSignalRegistration registration in _registrations)
        {
            registration.Dispose();
        }
    }

    /// <summary>Whether a signal that has arrived does not end the process.</summary>
    internal bool IsHandled()
    {
        lock (_lock)
        {
            if (_mayDrain && _firstAt is null)
            {
                _firstAt = _clock.GetTimestamp();
                _requested.SetResult();
                return true;
            }

            if (_firstAt is { } first && _clock.GetElapsedTime(first) < SameSignal)
            {
                return true;
            }

            _endsAtOnce?.Invoke(_mayDrain);
            return false;
        }
    }
}
