using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Millrace.Interop.Epoll;

/// <summary>
/// The buffer for the events of one wait: an array of <c>struct epoll_event</c>, which the kernel packs on x64 (12 bytes) and not on arm64
/// (16, with the data at 8). The owner disposes it.
/// </summary>
internal sealed unsafe class EpollEvents(int capacity) : IDisposable
{
    public const int EntryBytesMax = 16;

    private static readonly int EntryBytes = EntryBytesOn(RuntimeInformation.ProcessArchitecture);
    private static readonly int DataOffset = EntryBytes - sizeof(ulong);

    private readonly byte* _entries = (byte*)NativeMemory.AllocZeroed((nuint)capacity, (nuint)EntryBytes);

    public int Capacity { get; } = capacity;

    public void* Address => _entries;

    public EpollEventMask MaskOf(int index) => *(EpollEventMask*)(_entries + (index * EntryBytes));

    public ulong DataOf(int index) => Unsafe.ReadUnaligned<ulong>(_entries + (index * EntryBytes) + DataOffset);

    public void Dispose() => NativeMemory.Free(_entries);

    internal static int EntryBytesOn(Architecture architecture) => architecture switch
    {
        Architecture.X64 => 12,
        Architecture.Arm64 => 16,
        _ => throw new PlatformNotSupportedException($"Millrace knows the system calls of x64 and arm64, not of {architecture}."),
    };

    internal static void Write(byte* entry, EpollEventMask mask, ulong data)
    {
        *(EpollEventMask*)entry = mask;
        Unsafe.WriteUnaligned(entry + DataOffset, data);
    }
}

/// <summary><c>EPOLL*</c>: the events to report, and those reported.</summary>
[Flags]
internal enum EpollEventMask : uint
{
    None = 0,
    Readable = 0x1,

    /// <summary>Urgent bytes, at whose mark a receive stops short.</summary>
    Priority = 0x2,
    Writable = 0x4,
    Error = 0x8,
    HangUp = 0x10,

    /// <summary>The peer has ended its stream.</summary>
    PeerHangUp = 0x2000,
    EdgeTriggered = 1u << 31,
}
