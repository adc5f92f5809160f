namespace Millrace.Interop.Watching;

/// <summary>The <c>IN_*</c> bits of <c>inotify(7)</c>: what a watch reports, how it is added, and what a record says.</summary>
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

    /// <summary>Only in records, asked for or not: the file system was unmounted, the queue overflowed, the watch is gone.</summary>
    Unmount = 0x2000,
    QueueOverflow = 0x4000,
    Ignored = 0x8000,

    /// <summary>How to add: only a directory; without the changes of files that have no name in it any more; to what is there.</summary>
    OnlyDirectory = 0x1000000,
    ExcludeUnlinked = 0x4000000,
    Add = 0x20000000,

    /// <summary>Only in records: the subject is a directory.</summary>
    IsDirectory = 0x40000000,
}
