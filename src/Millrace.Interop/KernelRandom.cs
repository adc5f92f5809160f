using System.Diagnostics;
using System.Runtime.InteropServices;

namespace Millrace.Interop;

/// <summary>
/// The kernel's random bits (<c>getrandom(2)</c>), which need neither OpenSSL, as RandomNumberGenerator does, nor /dev/urandom, as
/// Guid.NewGuid does. Callable on any thread.
/// </summary>
internal static partial class KernelRandom
{
    public static unsafe ulong NextUInt64()
    {
        ulong value;
        Fill(new Span<byte>(&value, sizeof(ulong)));
        return value;
    }

    /// <summary>Fills up to 256 bytes: so many are always given at once, and no signal interrupts (<c>getrandom(2)</c>, NOTES).</summary>
    public static void Fill(Span<byte> bytes)
    {
        Debug.Assert(bytes.Length <= 256);
        int count = (int)SystemCall.Result(getrandom(bytes, (nuint)bytes.Length, 0));
        if (count != bytes.Length)
        {
            throw new InvalidOperationException($"The kernel gives no random numbers (getrandom: {Errno.Describe(-count)}).");
        }
    }

    [LibraryImport("libc", SetLastError = true)]
    private static partial nint getrandom(Span<byte> bytes, nuint length, uint flags);
}
