using System.Runtime.InteropServices;

namespace Millrace.Server;

/// <summary>
/// SIGUSR1: logs were given other names (logrotate), and are opened anew. Without a log nothing happens, and the process is not ended, as
/// it would be by the signal's default.
/// </summary>
internal sealed class RotateSignal(Action? reopen) : IDisposable
{
    /// <summary>.NET has no name for it, and takes numbers; the same on x64 and arm64.</summary>
    private const PosixSignal User1 = (PosixSignal)10;

    private readonly PosixSignalRegistration _registration = PosixSignalRegistration.Create(User1, context =>
    {
        context.Cancel = true;
        reopen?.Invoke();
    });

    public void Dispose() => _registration.Dispose();
}
