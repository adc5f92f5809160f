using System.Runtime.InteropServices;

namespace Millrace.Interop.Sockets;

/// <summary>
/// A pipe by which the kernel moves bytes from one socket to another by reference (<c>splice(2)</c>): no byte is copied to this process.
/// What <see cref="Take"/> takes is given on or drained before the next. One thread at a time; owns its two descriptors.
/// </summary>
internal sealed unsafe partial class SplicePipe : IDisposable
{
    private const int NonBlocking = 0x800;
    private const int CloseOnExec = 0x80000;
    private const int SetSize = 1031;
    private const uint MoveWithoutWait = 1 | 2;
    private const uint MoreFollows = 4;

    private readonly int _input;
    private readonly int _output;

    private SplicePipe(int output, int input)
    {
        _output = output;
        _input = input;
    }

    /// <summary>One call takes at most so many bytes. The kernel may give the pipe less room: then a call takes less.</summary>
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
    /// Takes what a socket has, without waiting, while the pipe is empty. Returns the count, 0 at the socket's end, or -errno; -EAGAIN if
    /// there are none.
    /// </summary>
    /// <param name="source">A connected socket with O_NONBLOCK: the call's own flag only concerns the pipe.</param>
    /// <param name="bytes">At most so many, and at most <see cref="Bytes"/>.</param>
    public int Take(int source, int bytes) =>
        (int)SystemCall.Result(splice(source, null, _input, null, (nuint)Math.Min(bytes, Bytes), MoveWithoutWait));

    /// <summary>
    /// Gives bytes of the pipe to a socket, as far as it takes them without waiting. An error is as no room: the socket's next send reports
    /// it. Returns the count.
    /// </summary>
    /// <param name="destination">A connected socket with O_NONBLOCK.</param>
    /// <param name="bytes">So many, which the pipe has.</param>
    /// <param name="hasMore">Whether they may wait in the socket for others that follow at once.</param>
    public int Give(int destination, int bytes, bool hasMore)
    {
        int left = bytes;
        while (left > 0)
        {
            uint flags = MoveWithoutWait | (hasMore ? MoreFollows : 0);
            int given = (int)SystemCall.Result(splice(_output, null, destination, null, (nuint)left, flags));
            if (given <= 0)
            {
                break;
            }

            left -= given;
        }

        return bytes - left;
    }

    /// <summary>Copies so many bytes, which are all that the pipe has, so that it is empty again.</summary>
    public void Drain(byte* buffer, int bytes)
    {
        for (int copied = 0; copied < bytes;)
        {
            int read = (int)SystemCall.Result(ReadPipe(_output, buffer + copied, (nuint)(bytes - copied)));
            if (read <= 0)
            {
                throw new InvalidOperationException($"A pipe has lost {bytes - copied} bytes: {Errno.Describe(-read)}.");
            }

            copied += read;
        }
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
