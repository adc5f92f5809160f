using System.Runtime.InteropServices;

namespace Millrace.Interop.Sockets;

/// <summary>
/// Bytes in and out of a socket without a wait, whatever its mode: the count, or -EAGAIN where there would have been one. A send
/// to a peer that is gone is -EPIPE and no signal.
/// </summary>
internal static unsafe partial class TransferCalls
{
    public static int Receive(int fd, byte* buffer, int bufferBytes) =>
        (int)SystemCall.Result(recv(fd, buffer, (nuint)bufferBytes, MessageFlags.DoNotWait));

    public static nint Send(int fd, byte* data, nuint bytes) =>
        SystemCall.Result(send(fd, data, bytes, MessageFlags.DoNotWait | MessageFlags.NoSignal));

    public static nint SendMessage(int fd, MessageHeader* message) =>
        SystemCall.Result(sendmsg(fd, message, MessageFlags.DoNotWait | MessageFlags.NoSignal));

    /// <summary>As <see cref="SendMessage"/>, and more follows at once.</summary>
    public static nint SendMessageBeforeMore(int fd, MessageHeader* message) =>
        SystemCall.Result(sendmsg(fd, message, MessageFlags.DoNotWait | MessageFlags.NoSignal | MessageFlags.More));

    /// <summary>
    /// Sends pages of a file by reference: the socket holds them until the peer has acknowledged all, also where the file is closed or cut
    /// meanwhile, and what is written into them goes out too. The one call here that waits on a socket which is not non-blocking; and to
    /// a peer that is gone it raises SIGPIPE, which .NET ignores.
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
