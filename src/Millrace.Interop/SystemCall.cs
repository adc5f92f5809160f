using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Millrace.Interop;

/// <summary>
/// The one convention of this room: a call returns its result, or <c>-errno</c>; it never throws.
/// libc's <c>syscall()</c> and its wrappers return -1 and leave the reason in errno, which
/// <see cref="Result(nint)"/> folds into the result. (A relative compared -1 with -EINTR for a year.)
/// </summary>
internal static partial class SystemCall
{
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static int Result(int returned) => returned == -1 ? -Marshal.GetLastSystemError() : returned;

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static nint Result(nint returned) => returned == -1 ? -Marshal.GetLastSystemError() : returned;

    /// <summary>A raw system call. Its number must be the same on x64 and arm64, as all since 424 are.</summary>
    public static int Invoke(nint number, nint a, nint b, nint c = 0, nint d = 0, nint e = 0, nint f = 0) =>
        (int)Result(syscall(number, a, b, c, d, e, f));

    /// <summary>The same for a call whose number is that of this processor's architecture.</summary>
    public static int InvokeOwn(nint number, nint a, nint b) => (int)Result(syscall(number, a, b, 0, 0, 0, 0));

    [LibraryImport("libc")]
    private static partial nint syscall(nint number, nint a, nint b, nint c, nint d, nint e, nint f);
}
