using Millrace.Engine.Buffers;
using Millrace.Engine.Listening;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends;

/// <summary>
/// The seam between a reactor and a kernel: operations are submitted under a token and completed, in any order, by
/// <see cref="Turn"/>. Everything but <see cref="Wake"/>, <see cref="AcceptQueued"/> and <see cref="SendNow"/> belongs to the reactor's
/// thread. Memory handed over with an operation stays the kernel's until that operation's terminal completion was returned, and its
/// descriptor stays open.
/// <para>An abstract class rather than a struct generic: see docs/adr/0001-backend-seam.md for the figures.</para>
/// </summary>
internal abstract unsafe class Backend : IDisposable
{
    /// <summary>The name people use for it: <c>io_uring</c>, <c>epoll</c>.</summary>
    public abstract string Name { get; }

    /// <summary>How many buffers there are for receives.</summary>
    public abstract int ReceiveBufferCount { get; }

    /// <summary>From how many bytes on sends are worth <see cref="SubmitZeroCopySend"/>.</summary>
    public virtual long ZeroCopyBytesLeast => long.MaxValue;

    /// <summary>Memory that operations are faster with than with other memory, the backend's own; null where none is.</summary>
    public virtual Arena? Arena => null;

    /// <summary>Milliseconds of a clock that never goes back.</summary>
    public virtual long NowMs => Environment.TickCount64;

    /// <summary>Accepts until cancelled: each completion is a connected, close-on-exec socket.</summary>
    public abstract void SubmitAccept(OperationToken token, int listenSocket);

    /// <summary>Connects a socket to a <c>struct sockaddr</c>, which stays as it is until completion: 0 when it is connected.</summary>
    public abstract void SubmitConnect(OperationToken token, int socket, byte* address, int bytes);

    /// <summary>
    /// Receives until cancelled, ended or out of buffers: each completion brings bytes in a provided buffer. Some end with the first of
    /// these (<see cref="Completion.IsTerminal"/>): whoever wants more submits the next.
    /// </summary>
    public abstract void SubmitReceive(OperationToken token, int socket);

    /// <summary>
    /// The same, ending with the first bytes where the backend can: for who may want no more of them, and is spared the cancel.
    /// </summary>
    public virtual void SubmitReceiveOnce(OperationToken token, int socket) => SubmitReceive(token, socket);

    /// <summary>Sends all of it, or as much as possible before an error.</summary>
    public abstract void SubmitSend(OperationToken token, int socket, byte* data, nuint bytes);

    /// <summary>As <see cref="SubmitSend"/>, from several parts; the header and its vectors are the caller's until completion.</summary>
    public abstract void SubmitSendMessage(OperationToken token, int socket, MessageHeader* message);

    /// <summary>
    /// As <see cref="SubmitSend"/>, without a copy: the first completion tells the result, and that nothing is done to the socket any more.
    /// Unless it is terminal another one follows, the notice: until then the memory is the kernel's, and the descriptor need not be open.
    /// </summary>
    public virtual void SubmitZeroCopySend(OperationToken token, int socket, byte* data, nuint bytes) =>
        SubmitSend(token, socket, data, bytes);

    /// <summary>As <see cref="SubmitZeroCopySend"/>, from several parts.</summary>
    public virtual void SubmitZeroCopySendMessage(OperationToken token, int socket, MessageHeader* message) =>
        SubmitSendMessage(token, socket, message);

    /// <summary>
    /// Completes with anything but an error of its own when a socket that took no more takes more, or cannot any longer: the next send
    /// tells which.
    /// </summary>
    public abstract void SubmitAwaitRoom(OperationToken token, int socket);

    /// <summary>Completes in the coming turn, with a result that a call has brought at once.</summary>
    public abstract void SubmitResult(OperationToken token, int result);

    public abstract void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset);

    /// <summary>Asks for the end of one operation, which then completes with -ECANCELED unless it was faster.</summary>
    public abstract void SubmitCancel(OperationToken target);

    /// <summary>
    /// Submits what was queued and waits for one completion: not at all for 0, without bound for -1.
    /// The completions are valid until the next turn.
    /// </summary>
    public abstract ReadOnlySpan<Completion> Turn(long timeoutMs);

    public abstract void ReturnBuffer(ushort bufferId);

    /// <summary>Ends the wait of the present turn, or of the next one. Any thread.</summary>
    public abstract void Wake();

    /// <summary>From here on <see cref="AcceptQueued"/> does not wait. Below zero where that cannot be had.</summary>
    public virtual int SetNonBlocking(int listenSocket) => SocketCalls.SetNonBlocking(listenSocket);

    /// <summary>
    /// From here on <see cref="AcceptQueued"/> waits for a moment only, and accepts that were submitted are not affected. Below zero where
    /// that cannot be had. Any thread.
    /// </summary>
    public virtual int SetAcceptPatience(int listenSocket) => SocketCalls.SetReceiveTimeout(listenSocket, milliseconds: 1);

    /// <summary>Takes <see cref="SetAcceptPatience"/> back. Any thread.</summary>
    public virtual int EndAcceptPatience(int listenSocket) => SocketCalls.SetReceiveTimeout(listenSocket, milliseconds: 0);

    /// <summary>
    /// Accepts one of the connections that are queued: a connected, close-on-exec socket, or -EAGAIN when none is left. Any thread.
    /// </summary>
    public virtual int AcceptQueued(int listenSocket) => SocketCalls.Accept(listenSocket);

    /// <summary>Closes a socket on which nothing is under way. Its peer hears of it at once, or with the next <see cref="Turn"/>.</summary>
    public virtual void CloseSocket(int socket) => SocketCalls.Close(socket);

    /// <summary>
    /// Sends at once what a non-blocking socket has room for, in a segment with what follows, which may be its end: the count, or -errno;
    /// -EAGAIN where it has none.
    /// </summary>
    public virtual nint SendBeforeMore(int socket, MessageHeader* message) => TransferCalls.SendMessageBeforeMore(socket, message);

    /// <summary>As <see cref="SendBeforeMore"/>, and nothing needs to follow. Any thread.</summary>
    public virtual nint SendNow(int socket, MessageHeader* message) => TransferCalls.SendMessage(socket, message);

    /// <summary>
    /// The same of a file's pages, by reference: they must stay as they are for as long as the peer has not acknowledged them.
    /// </summary>
    public virtual nint SendFile(int socket, int file, long offset, nuint bytes) => TransferCalls.SendFile(socket, file, offset, bytes);

    /// <summary>
    /// How many bytes of a file from <paramref name="offset"/> on can be had without a wait for a disk, as far as one knows who does not
    /// look at each page: 0 also where nobody can know.
    /// </summary>
    public virtual long CachedBytes(int file, long offset, long bytes) => CachedPages.Count(file, offset, bytes);

    /// <summary>When the pages of files that others may write to are sent.</summary>
    public virtual FilePageTerms FilePages => FilePageTerms.OfHost;

    /// <summary>How often the kernel's queues were full, and the reactor has stood aside to make room. Read by any thread.</summary>
    public virtual long QueuesFull => 0;

    public virtual void ShutdownSend(int socket) => SocketCalls.Shutdown(socket, ShutdownHow.Send);

    /// <summary>Makes the coming close a reset.</summary>
    public virtual void ResetOnClose(int socket) => SocketCalls.SetResetOnClose(socket);

    /// <summary>Fills in the peer's <c>struct sockaddr</c> and returns its length, or -errno.</summary>
    public virtual int PeerAddress(int socket, Span<byte> address) => SocketCalls.PeerAddress(socket, address);

    /// <summary>Has a congestion control decide from here on how fast a connection sends, where it may; 0, or -errno.</summary>
    public virtual int OfferCongestionControl(int socket, string name) => CongestionControl.Offer(socket, name);

    /// <summary>Bytes sent that the peer has not acknowledged (for a unix socket: not read), or -errno.</summary>
    public virtual int UnacknowledgedBytes(int socket) => SocketCalls.UnacknowledgedBytes(socket);

    /// <summary>A count that grows while the peer takes what was sent, to tell a slow reader from a stopped one.</summary>
    public virtual long SendProgress(int socket) => SocketProgress.Measure(socket);

    /// <summary>Whether the peer can be sent nothing any more, as far as the kernel knows already.</summary>
    public virtual bool IsOver(int socket) => SocketProgress.IsOver(socket);

    public void Dispose()
    {
        Dispose(disposing: true);
        GC.SuppressFinalize(this);
    }

    protected abstract void Dispose(bool disposing);
}
