using System.Runtime.InteropServices;

namespace Millrace.Server;

/// <summary>SIGHUP: everything is read anew, on the thread that delivers signals, while the reactors serve on.</summary>
internal sealed class ReloadSignal : IDisposable
{
    private readonly HostedSites _sites;
    private readonly PosixSignalRegistration _registration;

    public ReloadSignal(HostedSites sites)
    {
        _sites = sites;
        _registration = PosixSignalRegistration.Create(PosixSignal.SIGHUP, OnSignal);
    }

    public void Dispose() => _registration.Dispose();

    private void OnSignal(PosixSignalContext context)
    {
        context.Cancel = true;
        _sites.Reload();
    }
}
