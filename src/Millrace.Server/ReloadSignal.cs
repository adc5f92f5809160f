using System.Runtime.InteropServices;

namespace Millrace.Server;

/// <summary>
/// SIGHUP: everything is read anew, on the thread that delivers signals, while the reactors serve on. One that comes while the sites
/// are first being opened is kept until they are: what was read by then may be old already.
/// </summary>
internal sealed class ReloadSignal : IDisposable
{
    private readonly PosixSignalRegistration _registration;
    private readonly Lock _reloading = new();
    private Action? _reload;
    private bool _isAskedFor;

    public ReloadSignal() => _registration = PosixSignalRegistration.Create(PosixSignal.SIGHUP, OnSignal);

    /// <summary>
    /// All is open, until what is returned is disposed; that waits for a reload under way, as it is given up next.
    /// </summary>
    public IDisposable Attach(Action reload)
    {
        lock (_reloading)
        {
            _reload = reload;
            if (_isAskedFor)
            {
                reload();
            }
        }

        return new Attachment(this);
    }

    public void Dispose() => _registration.Dispose();

    private void OnSignal(PosixSignalContext context)
    {
        context.Cancel = true;
        lock (_reloading)
        {
            _isAskedFor = _reload is null;
            _reload?.Invoke();
        }
    }

    private sealed class Attachment(ReloadSignal signal) : IDisposable
    {
        public void Dispose()
        {
            lock (signal._reloading)
            {
                signal._reload = null;
            }
        }
    }
}
