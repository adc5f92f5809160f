using System.Runtime.InteropServices;

namespace Millrace.Tls.Tests.Kit;

/// <summary>What the C library has allocated, which OpenSSL allocates from.</summary>
internal static partial class Heap
{
    public static long BytesInUse()
    {
        MallInfo info = mallinfo2();
        return (long)(info.InUse + info.Mapped);
    }

    [LibraryImport("libc")]
    private static partial MallInfo mallinfo2();

    /// <summary><c>struct mallinfo2</c>.</summary>
    [StructLayout(LayoutKind.Sequential)]
    private struct MallInfo
    {
        public nuint Arena;
        public nuint OrdinaryBlocks;
        public nuint SmallBlocks;
        public nuint MappedBlocks;
        public nuint Mapped;
        public nuint UserSmall;
        public nuint FreeSmall;
        public nuint InUse;
        public nuint Free;
        public nuint KeepCost;
    }
}
