using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Millrace.Interop;

/// <summary>
/// Makes system calls return their result or <c>-errno</c>, the convention of this project; they never throw. libc's <c>syscall()</c> and
/// its wrappers return -1 and set errno, which <see cref="Result(nint)"/> merges into the result.
/// </summary>
internal static partial class SystemCall
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int Result(int returned) => returned == -1 ? -Marshal.GetLastSystemError() : returned;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static nint Result(nint returned) => returned == -1 ? -Marshal.GetLastSystemError() : returned;

    /// <summary>A raw system call. All numbers since 424 are the same on x64 and arm64; for others see <see cref="On"/>.</summary>
    public static int Invoke(nint number, nint a, nint b, nint c = 0, nint d = 0, nint e = 0, nint f = 0) =>
        (int)Result(syscall(number, a, b, c, d, e, f));

    /// <summary>What the kernel's interface defines for each architecture.</summary>
    /// <exception cref="PlatformNotSupportedException">It is another architecture.</exception>
    public static T On<T>(Architecture architecture, T x64, T arm64) => architecture switch
    {
        Architecture.X64 => x64,
        Architecture.Arm64 => arm64,
        _ => throw new PlatformNotSupportedException($"Millrace knows the system calls of x64 and arm64, not of {architecture}."),
    };

    [LibraryImport("libc")]
    private static partial nint syscall(nint number, nint a, nint b, nint c, nint d, nint e, nint f);
}

/// <summary>Encodes strings for C.</summary>
internal static class CString
{
    public static byte[] Of(string text) => [.. Encoding.UTF8.GetBytes(text), 0];
}
