using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Millrace.Interop.Watching;

/// <summary>Enumerates the records of one read of an inotify descriptor. Names refer to the buffer.</summary>
internal ref struct InotifyEvents(ReadOnlySpan<byte> records)
{
    /// <summary>One record with the longest name (NAME_MAX is 255): a shorter read buffer gives EINVAL.</summary>
    public const int RecordBytesMax = 16 + 256;

    private ReadOnlySpan<byte> _remaining = records;

    public InotifyEvent Current { get; private set; }

    /// <summary>The entry in the watched directory; empty if the event is about the directory itself.</summary>
    public ReadOnlySpan<byte> Name { get; private set; }

    public bool MoveNext()
    {
        if (_remaining.IsEmpty)
        {
            return false;
        }

        Current = MemoryMarshal.Read<InotifyEvent>(_remaining);
        ReadOnlySpan<byte> name = _remaining.Slice(Unsafe.SizeOf<InotifyEvent>(), (int)Current.NameBytes);
        // The kernel pads with zeros so that the next record is aligned.
        int end = name.IndexOf((byte)0);
        Name = end < 0 ? name : name[..end];
        _remaining = _remaining[(Unsafe.SizeOf<InotifyEvent>() + name.Length)..];
        return true;
    }
}

/// <summary><c>struct inotify_event</c>: the header of a record; <see cref="NameBytes"/> of name and zeros follow.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct InotifyEvent
{
    /// <summary>The watch; -1 if the queue overflowed.</summary>
    public int Watch;
    public WatchMask Mask;
    public uint Cookie;
    public uint NameBytes;
}

/// <summary>The <c>IN_*</c> bits of <c>inotify(7)</c>: the events of a watch, how it is added, and the event of a record.</summary>
[Flags]
internal enum WatchMask : uint
{
    None = 0,
    Modify = 0x2,
    Attributes = 0x4,
    CloseWrite = 0x8,
    MovedFrom = 0x40,
    MovedTo = 0x80,
    Create = 0x100,
    Delete = 0x200,
    DeleteSelf = 0x400,
    MoveSelf = 0x800,

    /// <summary>Only in records, requested or not: the file system was unmounted, the queue overflowed, the watch was removed.</summary>
    Unmount = 0x2000,
    QueueOverflow = 0x4000,
    Ignored = 0x8000,

    /// <summary>How to add a watch: only on a directory; without events of unlinked files; added to an existing watch's events.</summary>
    OnlyDirectory = 0x1000000,
    ExcludeUnlinked = 0x4000000,
    Add = 0x20000000,

    /// <summary>Only in records: the subject is a directory.</summary>
    IsDirectory = 0x40000000,
}
