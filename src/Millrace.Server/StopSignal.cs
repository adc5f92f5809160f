using System.Runtime.InteropServices;

namespace Millrace.Server;

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

    /// <summary>Completes with the first signal.</summary>
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
