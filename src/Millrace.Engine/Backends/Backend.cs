using System.Diagnostics;
using System.Globalization;
using Millrace.Engine.Accounting;
using Millrace.Engine.Buffers;
using Millrace.Interop;
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
    private SplicePipe? _pipe;

    /// <summary>The name: <c>io_uring</c> or <c>epoll</c>.</summary>
    public abstract string Name { get; }

    public abstract int ReceiveBufferCount { get; }

    /// <summary>The size of one receive buffer: a receive that fills it may have left bytes in the socket.</summary>
    public abstract int ReceiveBufferBytes { get; }

    /// <summary>The number of bytes from which a zero-copy send pays off.</summary>
    public virtual long ZeroCopyBytesMin => long.MaxValue;

    /// <summary>Registered memory, with which operations are faster, owned by the backend; null where there is none.</summary>
    public virtual Arena? Arena => null;

    /// <summary>Monotonic milliseconds.</summary>
    public virtual long NowMs => Environment.TickCount64;

    /// <summary>A monotonic clock in units of <see cref="Stopwatch.Frequency"/>, fine enough to measure parts of an iteration.</summary>
    public virtual long Timestamp => Stopwatch.GetTimestamp();

    /// <summary>A monotonic clock in nanoseconds: the time of packets and of <see cref="Loop.ILoopTimer"/>s.</summary>
    public virtual long NowNs => Stopwatch.Frequency == 1_000_000_000
        ? Stopwatch.GetTimestamp()
        : (long)(Stopwatch.GetTimestamp() * (1e9 / Stopwatch.Frequency));

    /// <summary>The descriptor limit: a new descriptor gets the lowest free number below it.</summary>
    public virtual int DescriptorsMax => int.MaxValue;

    /// <summary>Accepts until cancelled: each completion is a connected, close-on-exec socket.</summary>
    public abstract void SubmitAccept(OperationToken token, int listenSocket);

    /// <summary>Connects a socket to a <c>struct sockaddr</c>, which must not change before the completion: 0 when connected.</summary>
    public abstract void SubmitConnect(OperationToken token, int socket, byte* address, int bytes);

    /// <summary>
    /// Receives until cancelled, at the end of the stream, or out of buffers: each completion brings bytes in a provided buffer. After a
    /// terminal one (<see cref="Completion.IsTerminal"/>) with bytes, the caller submits the next receive. With <paramref name="once"/> it
    /// ends with the first bytes where the backend can: saves the cancel when no more bytes may be wanted.
    /// </summary>
    public abstract void SubmitReceive(OperationToken token, int socket, bool once = false);

    /// <summary>
    /// Sends all bytes, or as many as possible before an error. Of a zero-copy send the first completion carries the result, after which
    /// nothing more is done to the socket. Unless it is terminal a notification follows: until then the kernel owns the memory, but the
    /// descriptor may be closed.
    /// </summary>
    public abstract void SubmitSend(OperationToken token, int socket, in SendRequest send);

    /// <summary>
    /// Completes when a full socket accepts bytes again, or no longer can, which the next send shows; negative only if the wait itself
    /// fails.
    /// </summary>
    public abstract void SubmitAwaitRoom(OperationToken token, int socket);

    public abstract void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset);

    /// <summary>Allocates the buffers for datagrams, once, before the first receive of them.</summary>
    /// <exception cref="EngineException">There is no memory for them.</exception>
    public abstract void PrepareDatagrams();

    /// <summary>
    /// Receives messages until cancelled, an error, or out of buffers: each completion brings one, which may be several datagrams
    /// (UDP_GRO), in a buffer with the layout of <see cref="DatagramBuffer"/>. It is returned by <see cref="ReturnDatagramBuffer"/>, which
    /// may be in a later iteration. After a terminal completion that is not an error the caller submits the next receive.
    /// </summary>
    public abstract void SubmitReceiveDatagrams(OperationToken token, int socket);

    /// <summary>
    /// Sends one message, which may be cut into several datagrams (UDP_SEGMENT); waits for room in the socket. Several sends of a socket
    /// may be in flight. The message, and all that it points to, must not change until completion.
    /// </summary>
    public abstract void SubmitSendDatagram(OperationToken token, int socket, MessageHeader* message);

    /// <summary>Requests cancellation of one operation, which then completes with -ECANCELED unless it completes before.</summary>
    public abstract void SubmitCancel(OperationToken target);

    /// <summary>
    /// Submits queued operations and waits for one completion: not at all for 0, without limit for -1. The completions are valid until the
    /// next call.
    /// </summary>
    public abstract ReadOnlySpan<Completion> Poll(long timeoutMs);

    /// <summary>The same with a time in nanoseconds, where the backend can wait as precisely; else up to a millisecond later.</summary>
    public virtual ReadOnlySpan<Completion> PollFine(long timeoutNs) => Poll((timeoutNs + 999_999) / 1_000_000);

    public abstract void ReturnBuffer(ushort bufferId);

    public abstract void ReturnDatagramBuffer(ushort bufferId);

    /// <summary>Returns the memory of receive buffers that hold no bytes to the system, where they are known.</summary>
    public virtual void Trim(bool all)
    {
    }

    /// <summary>Ends the present wait, or the next one. Any thread.</summary>
    public abstract void Wake();

    /// <summary>
    /// New clients of a TCP listener are refused, or reach another one of their address. Negative if that fails. Any thread.
    /// </summary>
    public virtual int EndConnects(int listenSocket) => SocketCalls.EndConnects(listenSocket);

    /// <summary>Makes calls on a socket non-blocking. Negative if that fails.</summary>
    public virtual int SetNonBlocking(int socket) => SocketCalls.SetNonBlocking(socket);

    /// <summary>
    /// Limits the wait of <see cref="AcceptQueued"/> (0: no limit); accepts already submitted are not affected. Negative if that fails. Any
    /// thread.
    /// </summary>
    public virtual int SetAcceptTimeout(int listenSocket, int milliseconds) => SocketCalls.SetReceiveTimeout(listenSocket, milliseconds);

    /// <summary>Accepts one queued connection: a connected, close-on-exec socket, or -EAGAIN if there is none. Any thread.</summary>
    public virtual int AcceptQueued(int listenSocket) => AcceptLimit.Accept(listenSocket);

    /// <summary>Opens a socket to connect with. Negative if that fails.</summary>
    public virtual int OpenSocket(int family) => SocketCalls.Socket(family, SocketTypeNumber.Stream);

    /// <summary>Closes a socket on which no operation is in flight.</summary>
    public virtual void CloseSocket(int socket) => SocketCalls.Close(socket);

    /// <summary>
    /// Receives at once what a socket has, while no receive is submitted: the count, 0 at the end, or -errno; -EAGAIN if there is nothing.
    /// </summary>
    public virtual int ReceiveNow(int socket, byte* buffer, int bytes) => TransferCalls.Receive(socket, buffer, bytes);

    /// <summary>The number of bytes from which <see cref="MoveIn"/> costs less than receiving and sending a copy.</summary>
    public virtual long MoveBytesMin => 32 * 1024;

    /// <summary>
    /// Takes bytes of a socket, on which no receive is submitted, at once and by reference: see <see cref="SplicePipe.Take"/>. -EAGAIN also
    /// where the process has no descriptors for it. All that is taken is moved out or drained before the next call.
    /// </summary>
    public virtual int MoveIn(int source, int bytes)
    {
        _pipe ??= SplicePipe.TryOpen();
        return _pipe is null ? -Errno.EAGAIN : _pipe.Take(source, bytes);
    }

    /// <summary>Gives what was moved in to another socket, as far as it has room: see <see cref="SplicePipe.Give"/>.</summary>
    public virtual int MoveOut(int destination, int bytes, bool hasMore) => _pipe!.Give(destination, bytes, hasMore);

    /// <summary>Copies what is left of what was moved in.</summary>
    public virtual void DrainMoved(byte* buffer, int bytes) => _pipe!.Drain(buffer, bytes);

    /// <summary>
    /// Sends at once what a non-blocking socket has room for: the count, or -errno; -EAGAIN without room. With <paramref name="hasMore"/>
    /// in one segment with what follows, which may be its end of stream. Any thread.
    /// </summary>
    public virtual nint SendNow(int socket, MessageHeader* message, bool hasMore = false) =>
        TransferCalls.SendMessage(socket, message, hasMore);

    /// <summary>The same for a file's pages, by reference: they must not change until the peer has acknowledged them.</summary>
    public virtual nint SendFile(int socket, int file, long offset, nuint bytes) => TransferCalls.SendFile(socket, file, offset, bytes);

    /// <summary>
    /// Estimates how many bytes of a file from <paramref name="offset"/> on, at most <paramref name="bytes"/>, are in the page cache, by
    /// testing one page in every 64 KiB: disk reads and evictions rarely cover less. (mincore and cachestat report every page, but only to
    /// processes that may write to the file.) 0 after the end of the file, and on file systems without RWF_NOWAIT (overlayfs, tmpfs,
    /// network file systems).
    /// </summary>
    public virtual long CachedBytes(int file, long offset, long bytes)
    {
        const int StrideBytes = 64 * 1024;
        byte first;
        long cached = 0;
        while (cached < bytes && FileCalls.PositionalReadCached(file, &first, 1, offset + cached) == 1)
        {
            cached += StrideBytes;
        }

        return Math.Min(cached, bytes);
    }

    /// <summary>When file pages that others may write to are sent by reference.</summary>
    public virtual FilePagePolicy FilePages => FilePagePolicy.OfHost;

    /// <summary>How often a kernel queue was full and an extra enter made room. Any thread reads it.</summary>
    public virtual long QueuesFull => 0;

    public virtual void ShutdownSend(int socket) => SocketCalls.Shutdown(socket, ShutdownHow.Send);

    public virtual void ResetOnClose(int socket) => SocketCalls.SetResetOnClose(socket);

    /// <summary>Writes the local <c>struct sockaddr</c> and returns its length, or -errno.</summary>
    public virtual int LocalAddress(int socket, Span<byte> address) => SocketCalls.LocalAddress(socket, address);

    /// <summary>Whether a UDP socket can cut sends (UDP_SEGMENT); a device may refuse it later (EIO).</summary>
    public virtual bool CanSegment(int socket)
    {
        Span<byte> size = stackalloc byte[sizeof(int)];
        return SocketCalls.GetOption(socket, SocketOptionNumber.LevelUdp, SocketOptionNumber.UdpSegment, size) >= 0;
    }

    /// <summary>Writes the peer's <c>struct sockaddr</c> and returns its length, or -errno.</summary>
    public virtual int PeerAddress(int socket, Span<byte> address) => SocketCalls.PeerAddress(socket, address);

    /// <summary>Sent bytes that the peer has not acknowledged (for a unix socket: not read), or -errno.</summary>
    public virtual int UnacknowledgedBytes(int socket) => SocketCalls.UnacknowledgedBytes(socket);

    /// <summary>A count that grows while the peer takes bytes: tells a slow reader from a stopped one.</summary>
    public virtual long SendProgress(int socket) => SocketProgress.Measure(socket);

    public virtual bool IsOver(int socket) => SocketProgress.IsOver(socket);

    public void Dispose()
    {
        Dispose(disposing: true);
        _pipe?.Dispose();
        GC.SuppressFinalize(this);
    }

    protected abstract void Dispose(bool disposing);
}

/// <summary>One send: a single part, or several in a message, whose header and vectors must stay valid until completion.</summary>
internal readonly unsafe struct SendRequest
{
    public readonly byte* Data;
    public readonly nuint Bytes;

    /// <summary>Null for a single part.</summary>
    public readonly MessageHeader* Message;

    public SendRequest(byte* data, nuint bytes)
    {
        Data = data;
        Bytes = bytes;
    }

    public SendRequest(MessageHeader* message) => Message = message;

    /// <summary>Whether the kernel sends from this memory, if the backend can.</summary>
    public bool IsZeroCopy { get; init; }
}

/// <summary>
/// Decides when file pages that others may write to are sent by reference. Such bytes can still change while they may be read: by the
/// kernel until they are acknowledged, and by a peer on the same machine (loopback, containers) while the pages themselves are in its
/// receive queue.
/// </summary>
/// <param name="BytesMin">Minimum number of cached bytes to begin with: fewer are read quickly.</param>
/// <param name="PeerQueueBytes">Bytes that a peer may have acknowledged but not read.</param>
/// <param name="OwnQueueBytes">Usual maximum of bytes in flight on our own socket.</param>
internal sealed record FilePagePolicy(long BytesMin, long PeerQueueBytes, long OwnQueueBytes)
{
    /// <summary>
    /// The policy of this host, from the kernel's settings at process start: the size to which a receive queue may grow by itself, or by
    /// request (the double of the setting). If one cannot be read (in a network namespace before Linux 6.11, say) nothing is sent by
    /// reference. A program with a larger queue (SO_RCVBUFFORCE, or a network namespace with its own settings) is not recognised.
    /// </summary>
    public static FilePagePolicy OfHost { get; } = new(
        BytesMin: 1024 * 1024,
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
