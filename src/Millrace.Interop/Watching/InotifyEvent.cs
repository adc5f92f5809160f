using System.Runtime.InteropServices;

namespace Millrace.Interop.Watching;

/// <summary><c>struct inotify_event</c>: the head of a record; <see cref="NameBytes"/> of name and zeros follow it.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct InotifyEvent
{
    /// <summary>Which watch; -1 where the queue overflowed.</summary>
    public int Watch;
    public WatchMask Mask;
    public uint Cookie;
    public uint NameBytes;
}
