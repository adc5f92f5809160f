using System.Runtime.InteropServices;

namespace Millrace.Server;

/// <summary>SIGHUP: everything is read anew, on the thread that delivers signals, while the reactors serve on.</summary>
internal sealed class ReloadSignal : IDisposable
{
    private readonly HostedSites _sites;
    private readonly PosixSignalRegistration _registration;
    private readonly Lock _reloading = new();
    private bool _isDisposed;

    public ReloadSignal(HostedSites sites)
    {
        _sites = sites;
        _registration = PosixSignalRegistration.Create(PosixSignal.SIGHUP, OnSignal);
    }

    /// <summary>Waits for a reload under way: what it reads into is given up next.</summary>
    public void Dispose()
    {
        _registration.Dispose();
        lock (_reloading)
        {
            _isDisposed = true;
        }
    }

    private void OnSignal(PosixSignalContext context)
    {
        context.Cancel = true;
        lock (_reloading)
        {
            if (!_isDisposed)
            {
                _sites.Reload();
            }
        }
    }
}
