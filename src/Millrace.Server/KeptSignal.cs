using System.Runtime.InteropServices;

namespace Millrace.Server;

/// <summary>
/// A signal that asks for something to be done anew, on the thread that delivers signals, while the reactors serve on: SIGHUP, read
/// everything; SIGUSR1, open logs, which were given other names (logrotate). One that comes while the sites are first being opened is kept
/// until they are: what was read or opened by then may be old already. Those that come while another waits are one with that. It never
/// ends the process, as its default would.
/// </summary>
internal sealed class KeptSignal : IDisposable
{
    /// <summary>.NET has no name for SIGUSR1, and takes numbers; the same on x64 and arm64.</summary>
    public const PosixSignal User1 = (PosixSignal)10;

    private readonly PosixSignalRegistration _registration;
    private readonly Lock _doing = new();
    private Action? _action;
    private bool _isAskedFor;
    private int _waiting;

    public KeptSignal(PosixSignal signal) => _registration = PosixSignalRegistration.Create(signal, OnSignal);

    /// <summary>
    /// It can be done, until what is returned is disposed; that waits for one under way, as what it needs is given up next.
    /// </summary>
    public IDisposable Attach(Action action)
    {
        lock (_doing)
        {
            _action = action;
            if (_isAskedFor)
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
            // The one that waits begins later than this signal came.
            return;
        }

        lock (_doing)
        {
            Volatile.Write(ref _waiting, 0);
            Action? action = Volatile.Read(ref _action);
            _isAskedFor = action is null;
            action?.Invoke();
        }
    }

    private sealed class Attachment(KeptSignal signal) : IDisposable
    {
        public void Dispose()
        {
            // Before the lock: one that waits for it finds nothing to do.
            Volatile.Write(ref signal._action, null);
            lock (signal._doing)
            {
            }
        }
    }
}
