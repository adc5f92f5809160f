using System.Runtime.InteropServices;

namespace Millrace.Interop.Sockets;

/// <summary>
/// Non-blocking sends and receives on any socket: the count, or -errno; -EAGAIN if the call would block. A send to a peer that is gone
/// returns -EPIPE and raises no signal.
/// </summary>
internal static unsafe partial class TransferCalls
{
    public static int Receive(int fd, byte* buffer, int bufferBytes) =>
        (int)SystemCall.Result(recv(fd, buffer, (nuint)bufferBytes, MessageFlags.DoNotWait));

    public static nint Send(int fd, byte* data, nuint bytes) =>
        SystemCall.Result(send(fd, data, bytes, MessageFlags.DoNotWait | MessageFlags.NoSignal));

    /// <summary><paramref name="hasMore"/>: more data follows at once.</summary>
    public static nint SendMessage(int fd, MessageHeader* message, bool hasMore = false) =>
        SystemCall.Result(sendmsg(fd, message, MessageFlags.DoNotWait | MessageFlags.NoSignal | (hasMore ? MessageFlags.More : 0)));

    /// <summary>
    /// Sends pages of a file by reference: the socket holds them until the peer has acknowledged all, even if the file is closed or
    /// truncated meanwhile, and later writes to them are sent too. The only call here that blocks on a blocking socket; to a peer that is
    /// gone it raises SIGPIPE, which .NET ignores.
    /// </summary>
    public static nint SendFile(int fd, int file, long offset, nuint bytes) => SystemCall.Result(sendfile(fd, file, &offset, bytes));

    [LibraryImport("libc")]
    private static partial nint sendfile(int fd, int file, long* offset, nuint bytes);

    [LibraryImport("libc")]
    private static partial nint recv(int fd, byte* buffer, nuint bytes, uint flags);

    [LibraryImport("libc")]
    private static partial nint send(int fd, byte* data, nuint bytes, uint flags);

    [LibraryImport("libc")]
    private static partial nint sendmsg(int fd, MessageHeader* message, uint flags);
}
