using System.Globalization;
using System.Runtime.InteropServices;

namespace Millrace.Interop.Tests.Kit;

/// <summary>What the tests ask of the system past Interop: bytes through a descriptor, and what the kernel says of one.</summary>
internal static unsafe partial class Libc
{
    private const int CloseOnExec = 0x80000;

    public static int Write(int fd, ReadOnlySpan<byte> bytes)
    {
        fixed (byte* pointer = bytes)
        {
            return (int)SystemCall.Result(write(fd, pointer, (nuint)bytes.Length));
        }
    }

    public static int Read(int fd, Span<byte> bytes)
    {
        fixed (byte* pointer = bytes)
        {
            return (int)SystemCall.Result(read(fd, pointer, (nuint)bytes.Length));
        }
    }

    /// <summary>By <c>/proc/self/fdinfo</c>: a second opinion, without the constants under test.</summary>
    public static bool IsCloseOnExec(int fd) => (FlagsOf(fd) & CloseOnExec) != 0;

    public static int FlagsOf(int fd)
    {
        string path = string.Create(CultureInfo.InvariantCulture, $"/proc/self/fdinfo/{fd}");
        string flags = File.ReadLines(path).Single(line => line.StartsWith("flags:", StringComparison.Ordinal));
        return Convert.ToInt32(flags["flags:".Length..].Trim(), fromBase: 8);
    }

    [LibraryImport("libc")]
    private static partial nint write(int fd, byte* bytes, nuint count);

    [LibraryImport("libc")]
    private static partial nint read(int fd, byte* bytes, nuint count);
}
