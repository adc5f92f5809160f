using System.Runtime.InteropServices;

namespace Millrace.Interop.Sockets;

/// <summary>
/// A pipe by which the kernel moves bytes from one socket to another by reference (<c>splice(2)</c>): no byte is copied to this process.
/// Between two calls it is empty. One thread at a time; owns its two descriptors.
/// </summary>
internal sealed unsafe partial class SplicePipe : IDisposable
{
    private const int NonBlocking = 0x800;
    private const int CloseOnExec = 0x80000;
    private const int SetSize = 1031;
    private const uint MoveWithoutWait = 1 | 2;

    private readonly int _input;
    private readonly int _output;

    private SplicePipe(int output, int input)
    {
        _output = output;
        _input = input;
    }

    /// <summary>One call moves at most so many bytes. The kernel may give the pipe less room: then a call moves less.</summary>
    public static int Bytes => 128 * 1024;

    /// <summary>Null if the process has no descriptors left.</summary>
    public static SplicePipe? TryOpen()
    {
        int* ends = stackalloc int[2];
        if (pipe2(ends, NonBlocking | CloseOnExec) != 0)
        {
            return null;
        }

        // Refused where the user's pipes have much memory already: it stays at 64 KiB.
        _ = fcntl(ends[1], SetSize, Bytes);
        return new SplicePipe(ends[0], ends[1]);
    }

    /// <summary>
    /// Moves what <paramref name="source"/> has and <paramref name="destination"/> takes, without waiting. What the destination does not
    /// take, also because of an error, which its next send reports, is copied to <paramref name="rest"/>.
    /// </summary>
    /// <param name="source">A connected socket with O_NONBLOCK: the call's own flag only concerns the pipe.</param>
    /// <param name="destination">The same.</param>
    /// <param name="bytes">At most so many, and at most <see cref="Bytes"/>.</param>
    /// <param name="rest">Room for as many bytes.</param>
    /// <param name="restBytes">How many bytes were copied there.</param>
    /// <returns>Bytes taken from the source, the rest included; 0 at its end; -errno; -EAGAIN if there are none.</returns>
    public int Move(int source, int destination, int bytes, byte* rest, out int restBytes)
    {
        restBytes = 0;
        int taken = (int)SystemCall.Result(splice(source, null, _input, null, (nuint)Math.Min(bytes, Bytes), MoveWithoutWait));
        int left = taken;
        while (left > 0)
        {
            int given = (int)SystemCall.Result(splice(_output, null, destination, null, (nuint)left, MoveWithoutWait));
            if (given <= 0)
            {
                break;
            }

            left -= given;
        }

        while (left > restBytes)
        {
            int read = (int)SystemCall.Result(ReadPipe(_output, rest + restBytes, (nuint)(left - restBytes)));
            if (read <= 0)
            {
                throw new InvalidOperationException($"A pipe has lost {left - restBytes} bytes: {Errno.Describe(-read)}.");
            }

            restBytes += read;
        }

        return taken;
    }

    public void Dispose()
    {
        _ = SocketCalls.Close(_input);
        _ = SocketCalls.Close(_output);
    }

    [LibraryImport("libc", SetLastError = true)]
    private static partial int pipe2(int* ends, int flags);

    [LibraryImport("libc", SetLastError = true)]
    private static partial int fcntl(int fd, int command, nint argument);

    [LibraryImport("libc", SetLastError = true)]
    private static partial nint splice(int input, long* inputOffset, int output, long* outputOffset, nuint bytes, uint flags);

    [LibraryImport("libc", EntryPoint = "read", SetLastError = true)]
    private static partial nint ReadPipe(int fd, byte* buffer, nuint bytes);
}
