using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Millrace.Interop.Watching;

/// <summary>Walks the records that one read of an inotify descriptor left in a buffer. A name is valid as long as the buffer is.</summary>
internal ref struct InotifyEvents(ReadOnlySpan<byte> records)
{
    /// <summary>One record with the longest name (NAME_MAX is 255): a read into less is EINVAL.</summary>
    public const int RecordBytesMax = 16 + 256;

    private ReadOnlySpan<byte> _rest = records;

    public InotifyEvent Current { get; private set; }

    /// <summary>The entry of the watched directory that is meant; empty where it is the directory itself.</summary>
    public ReadOnlySpan<byte> Name { get; private set; }

    public bool MoveNext()
    {
        if (_rest.IsEmpty)
        {
            return false;
        }

        Current = MemoryMarshal.Read<InotifyEvent>(_rest);
        ReadOnlySpan<byte> name = _rest.Slice(Unsafe.SizeOf<InotifyEvent>(), (int)Current.NameBytes);
        // The kernel pads with zeros so that the next record is aligned.
        int end = name.IndexOf((byte)0);
        Name = end < 0 ? name : name[..end];
        _rest = _rest[(Unsafe.SizeOf<InotifyEvent>() + name.Length)..];
        return true;
    }
}
