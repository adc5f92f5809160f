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

/// <summary>SIGTERM or SIGINT: the first one requests a drain, the second one ends the process at once, as by default.</summary>
internal sealed class StopSignal : IDisposable
{
    private readonly TaskCompletionSource _requested = new(TaskCreationOptions.RunContinuationsAsynchronously);
    private readonly PosixSignalRegistration[] _registrations;

    public StopSignal()
    {
        _registrations =
        [
            PosixSignalRegistration.Create(PosixSignal.SIGTERM, OnSignal),
            PosixSignalRegistration.Create(PosixSignal.SIGINT, OnSignal),
        ];
    }

    public Task Requested => _requested.Task;

    public void Dispose()
    {
        foreach (PosixSignalRegistration registration in _registrations)
        {
            registration.Dispose();
        }
    }

    private void OnSignal(PosixSignalContext context) => context.Cancel = _requested.TrySetResult();
}
