using System.Runtime.InteropServices;

namespace Millrace.Server;

/// <summary>
/// A signal that asks for something to be done anew, on the thread that delivers signals, while the reactors serve on: SIGHUP, read
/// everything; SIGUSR1, open logs, which were given other names (logrotate). One that comes while the sites are first being opened is kept
/// until they are: what was read or opened by then may be old already. It never ends the process, as its default would.
/// </summary>
internal sealed class KeptSignal : IDisposable
{
    /// <summary>.NET has no name for SIGUSR1, and takes numbers; the same on x64 and arm64.</summary>
    public const PosixSignal User1 = (PosixSignal)10;

    private readonly PosixSignalRegistration _registration;
    private readonly Lock _doing = new();
    private Action? _action;
    private bool _isAskedFor;

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
        lock (_doing)
        {
            _isAskedFor = _action is null;
            _action?.Invoke();
        }
    }

    private sealed class Attachment(KeptSignal signal) : IDisposable
    {
        public void Dispose()
        {
            lock (signal._doing)
            {
                signal._action = null;
            }
        }
    }
}
