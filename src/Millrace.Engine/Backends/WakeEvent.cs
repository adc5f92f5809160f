using System.Diagnostics;
using Microsoft.Win32.SafeHandles;
using Millrace.Interop;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends;

/// <summary>
/// The eventfd by which other threads end a reactor's wait. They may signal after the reactor has ended and its descriptor number is in use
/// elsewhere: the safe handle counts its users, and a late signal does nothing.
/// </summary>
internal sealed class WakeEvent : IDisposable
{
    private readonly SafeFileHandle _handle;

    /// <exception cref="EngineException">No descriptor is available.</exception>
    public WakeEvent()
    {
        Descriptor = SocketCalls.EventDescriptor();
        if (Descriptor < 0)
        {
            throw new EngineException(
                $"No descriptor is available for a reactor's eventfd, as {Errno.Describe(Descriptor)}: "
                    + $"{Errno.DescriptorRemedy(Descriptor) ?? Advice.Memory}.")
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
            // The reactor has ended.
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
