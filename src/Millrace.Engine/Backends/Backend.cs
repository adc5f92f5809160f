using System.Diagnostics;
using System.Globalization;
using Millrace.Engine.Accounting;
using Millrace.Engine.Buffers;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends;

/// <summary>
/// The interface between a reactor and a kernel: operations are submitted under a token and completed, in any order, by
/// <see cref="Poll"/>. All members are for the reactor's thread, except those marked "any thread". From submission until the terminal
/// completion is returned the kernel owns an operation's memory, and its descriptor must stay open.
/// <para>An abstract class rather than a struct generic: see docs/adr/0001-backend-is-an-abstract-class.md for the figures.</para>
/// </summary>
internal abstract unsafe class Backend : ITrimmable, IDisposable
{
    /// <summary>The name: <c>io_uring</c> or <c>epoll</c>.</summary>
    public abstract string Name { get; }

    /// <summary>The number of receive buffers.</summary>
    public abstract int ReceiveBufferCount { get; }

    /// <summary>The number of bytes from which <see cref="SubmitZeroCopySend"/> pays off.</summary>
    public virtual long ZeroCopyBytesLeast => long.MaxValue;

    /// <summary>Registered memory, with which operations are faster, owned by the backend; null where there is none.</summary>
    public virtual Arena? Arena => null;

    /// <summary>Monotonic milliseconds.</summary>
    public virtual long NowMs => Environment.TickCount64;

    /// <summary>A monotonic clock in units of <see cref="Stopwatch.Frequency"/>, fine enough to measure parts of an iteration.</summary>
    public virtual long Timestamp => Stopwatch.GetTimestamp();

    /// <summary>The descriptor limit: a new descriptor gets the lowest free number below it.</summary>
    public virtual int DescriptorsMax => int.MaxValue;

    /// <summary>Accepts until cancelled: each completion is a connected, close-on-exec socket.</summary>
    public abstract void SubmitAccept(OperationToken token, int listenSocket);

    /// <summary>Connects a socket to a <c>struct sockaddr</c>, which must not change before the completion: 0 when connected.</summary>
    public abstract void SubmitConnect(OperationToken token, int socket, byte* address, int bytes);

    /// <summary>
    /// Receives until cancelled, at the end of the stream, or out of buffers: each completion brings bytes in a provided buffer. After a
    /// terminal one (<see cref="Completion.IsTerminal"/>) with bytes, the caller submits the next receive.
    /// </summary>
    public abstract void SubmitReceive(OperationToken token, int socket);

    /// <summary>The same, ending with the first bytes where the backend can: saves the cancel when no more bytes may be wanted.</summary>
    public virtual void SubmitReceiveOnce(OperationToken token, int socket) => SubmitReceive(token, socket);

    /// <summary>Sends all bytes, or as many as possible before an error.</summary>
    public abstract void SubmitSend(OperationToken token, int socket, byte* data, nuint bytes);

    /// <summary>As <see cref="SubmitSend"/>, from several parts; header and vectors must stay valid until completion.</summary>
    public abstract void SubmitSendMessage(OperationToken token, int socket, MessageHeader* message);

    /// <summary>
    /// As <see cref="SubmitSend"/>, without a copy: the first completion carries the result, after which nothing more is done to the
    /// socket. Unless it is terminal a notification follows: until then the kernel owns the memory, but the descriptor may be closed.
    /// </summary>
    public virtual void SubmitZeroCopySend(OperationToken token, int socket, byte* data, nuint bytes) =>
        SubmitSend(token, socket, data, bytes);

    /// <summary>As <see cref="SubmitZeroCopySend"/>, from several parts.</summary>
    public virtual void SubmitZeroCopySendMessage(OperationToken token, int socket, MessageHeader* message) =>
        SubmitSendMessage(token, socket, message);

    /// <summary>
    /// Completes when a full socket accepts bytes again, or no longer can, which the next send shows; negative only if the wait itself
    /// fails.
    /// </summary>
    public abstract void SubmitAwaitRoom(OperationToken token, int socket);

    /// <summary>Completes in the next iteration, with the result of a call that has already returned.</summary>
    public abstract void SubmitResult(OperationToken token, int result);

    public abstract void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset);

    /// <summary>Requests cancellation of one operation, which then completes with -ECANCELED unless it completes before.</summary>
    public abstract void SubmitCancel(OperationToken target);

    /// <summary>
    /// Submits queued operations and waits for one completion: not at all for 0, without limit for -1. The completions are valid until the
    /// next call.
    /// </summary>
    public abstract ReadOnlySpan<Completion> Poll(long timeoutMs);

    public abstract void ReturnBuffer(ushort bufferId);

    /// <summary>Returns the memory of receive buffers that hold no bytes to the system, where they are known.</summary>
    public virtual void Trim(bool all)
    {
    }

    /// <summary>Ends the present wait, or the next one. Any thread.</summary>
    public abstract void Wake();

    /// <summary>Stops queueing of new TCP connections and makes <see cref="AcceptQueued"/> non-blocking. Negative if that fails.</summary>
    public virtual int EndQueueing(int listenSocket)
    {
        // A connection that arrived between the last accept and the close would be reset.
        _ = SocketCalls.DropIncoming(listenSocket);
        return SocketCalls.SetNonBlocking(listenSocket);
    }

    /// <summary>
    /// Limits the wait of <see cref="AcceptQueued"/> to a moment; accepts already submitted are not affected. Negative if that fails. Any
    /// thread.
    /// </summary>
    public virtual int SetAcceptTimeout(int listenSocket) => SocketCalls.SetReceiveTimeout(listenSocket, milliseconds: 1);

    /// <summary>Removes the limit of <see cref="SetAcceptTimeout"/>. Any thread.</summary>
    public virtual int ClearAcceptTimeout(int listenSocket) => SocketCalls.SetReceiveTimeout(listenSocket, milliseconds: 0);

    /// <summary>Accepts one queued connection: a connected, close-on-exec socket, or -EAGAIN if there is none. Any thread.</summary>
    public virtual int AcceptQueued(int listenSocket) => AcceptLimit.Accept(listenSocket);

    /// <summary>Closes a socket on which no operation is in flight.</summary>
    public virtual void CloseSocket(int socket) => SocketCalls.Close(socket);

    /// <summary>
    /// Sends at once what a non-blocking socket has room for, in one segment with what follows, which may be its end of stream: the count,
    /// or -errno; -EAGAIN without room.
    /// </summary>
    public virtual nint SendBeforeMore(int socket, MessageHeader* message) => TransferCalls.SendMessageBeforeMore(socket, message);

    /// <summary>As <see cref="SendBeforeMore"/>, for when nothing follows. Any thread.</summary>
    public virtual nint SendNow(int socket, MessageHeader* message) => TransferCalls.SendMessage(socket, message);

    /// <summary>The same for a file's pages, by reference: they must not change until the peer has acknowledged them.</summary>
    public virtual nint SendFile(int socket, int file, long offset, nuint bytes) => TransferCalls.SendFile(socket, file, offset, bytes);

    /// <summary>
    /// Estimates how many bytes of a file from <paramref name="offset"/> on can be read without waiting for a disk; 0 where that is not
    /// known.
    /// </summary>
    public virtual long CachedBytes(int file, long offset, long bytes) => PageCacheProbe.Count(file, offset, bytes);

    /// <summary>When file pages that others may write to are sent by reference.</summary>
    public virtual FilePagePolicy FilePages => FilePagePolicy.OfHost;

    /// <summary>How often a kernel queue was full and an extra enter made room. Any thread reads it.</summary>
    public virtual long QueuesFull => 0;

    public virtual void ShutdownSend(int socket) => SocketCalls.Shutdown(socket, ShutdownHow.Send);

    /// <summary>Makes the next close a reset.</summary>
    public virtual void ResetOnClose(int socket) => SocketCalls.SetResetOnClose(socket);

    /// <summary>Writes the peer's <c>struct sockaddr</c> and returns its length, or -errno.</summary>
    public virtual int PeerAddress(int socket, Span<byte> address) => SocketCalls.PeerAddress(socket, address);

    /// <summary>Sent bytes that the peer has not acknowledged (for a unix socket: not read), or -errno.</summary>
    public virtual int UnacknowledgedBytes(int socket) => SocketCalls.UnacknowledgedBytes(socket);

    /// <summary>A count that grows while the peer takes bytes: tells a slow reader from a stopped one.</summary>
    public virtual long SendProgress(int socket) => SocketProgress.Measure(socket);

    /// <summary>Whether the kernel knows that nothing can be sent to the peer any more.</summary>
    public virtual bool IsOver(int socket) => SocketProgress.IsOver(socket);

    public void Dispose()
    {
        Dispose(disposing: true);
        GC.SuppressFinalize(this);
    }

    protected abstract void Dispose(bool disposing);
}

/// <summary>
/// Decides when file pages that others may write to are sent by reference. Such bytes can still change while they may be read: by the
/// kernel until they are acknowledged, and by a peer on the same machine (loopback, containers) while the pages themselves are in its
/// receive queue.
/// </summary>
/// <param name="BytesLeast">Minimum number of cached bytes to begin with: fewer are read quickly.</param>
/// <param name="PeerQueueBytes">Bytes that a peer may have acknowledged but not read.</param>
/// <param name="OwnQueueBytes">Usual maximum of bytes in flight on our own socket.</param>
internal sealed record FilePagePolicy(long BytesLeast, long PeerQueueBytes, long OwnQueueBytes)
{
    /// <summary>
    /// The policy of this host, from the kernel's settings at process start: the size to which a receive queue may grow by itself, or by
    /// request (the double of the setting). If one cannot be read (in a network namespace before Linux 6.11, say) nothing is sent by
    /// reference. A program with a larger queue (SO_RCVBUFFORCE, or a network namespace with its own settings) is not recognised.
    /// </summary>
    public static FilePagePolicy OfHost { get; } = new(
        BytesLeast: 1024 * 1024,
        PeerQueueBytes: Math.Max(LastNumberOf("/proc/sys/net/ipv4/tcp_rmem"), 2 * LastNumberOf("/proc/sys/net/core/rmem_max")),
        OwnQueueBytes: 4 * 1024 * 1024);

    /// <summary>Larger than any file, and sums do not overflow.</summary>
    private const long Unknown = long.MaxValue / 8;

    /// <summary>
    /// So many bytes after the last page must be copied: then the pages are usually read by the time these are sent, without a wait.
    /// </summary>
    public long CopiedBytesAfter => PeerQueueBytes + OwnQueueBytes;

    private static long LastNumberOf(string setting) =>
        long.TryParse(KernelFile.TryRead(setting)?.Split('\t', ' ')[^1], CultureInfo.InvariantCulture, out long number) ? number : Unknown;
}
