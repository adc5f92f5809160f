using System.Diagnostics;
using Microsoft.Win32.SafeHandles;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends;

/// <summary>
/// The eventfd by which other threads end a reactor's wait. They may come when the reactor has ended and the number is
/// somebody else's: the handle counts who is using it, and a signal after the end does nothing.
/// </summary>
internal sealed class WakeEvent : IDisposable
{
    private readonly SafeFileHandle _handle;

    /// <exception cref="EngineException">No descriptor is to be had.</exception>
    public WakeEvent()
    {
        Descriptor = SocketCalls.EventDescriptor();
        if (Descriptor < 0)
        {
            throw new EngineException(
                $"A reactor got no descriptor to be woken by ({Errno.Describe(Descriptor)}): {Remedies.Descriptors}.")
            {
                Shortage = -Descriptor,
            };
        }

        _handle = new SafeFileHandle(Descriptor, ownsHandle: true);
    }

    public int Descriptor { get; }

    /// <summary>Any thread, at any time.</summary>
    public void Signal()
    {
        bool added = false;
        try
        {
            _handle.DangerousAddRef(ref added);
            int result = SocketCalls.SignalEvent(Descriptor);
            Debug.Assert(result >= 0 || result == -Errno.EAGAIN, "Waking a reactor failed.");
        }
        catch (ObjectDisposedException)
        {
            // The reactor has ended: nobody is there to be woken.
        }
        finally
        {
            if (added)
            {
                _handle.DangerousRelease();
            }
        }
    }

    public void Dispose() => _handle.Dispose();
}
