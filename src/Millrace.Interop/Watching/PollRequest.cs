using System.Runtime.InteropServices;

namespace Millrace.Interop.Watching;

/// <summary><c>struct pollfd</c>.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct PollRequest
{
    /// <summary><c>POLLIN</c>.</summary>
    public const short Readable = 1;

    public int Fd;
    public short Events;
    public short ReturnedEvents;
}
