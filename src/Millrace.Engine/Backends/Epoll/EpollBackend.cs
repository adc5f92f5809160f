using System.Diagnostics;
using System.Runtime.InteropServices;
using Millrace.Engine.Accounting;
using Millrace.Interop;
using Millrace.Interop.Epoll;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Epoll;

/// <summary>
/// The backend over epoll, for hosts without io_uring: the same operations as system calls within an iteration. An operation that can
/// complete at once does (a send nearly always); others wait for an edge. A socket is registered once, edge-triggered, and reported edges
/// are remembered, so that a connection costs one epoll_ctl in its life, and a second one with its first send that does not fit.
/// </summary>
/// <remarks>
/// One difference to io_uring is noticeable: see <see cref="EpollFileReader"/> about files that are not in the page cache.
/// </remarks>
internal sealed class EpollBackend : Backend
{
    private const int EventsPerWait = 256;

    /// <summary>
    /// File reads complete in the iteration that submits them, and the sends of their bytes wait for the next one: so many responses are in
    /// memory at one time, while a ring's reads are interleaved.
    /// </summary>
    private const int CompletionsMax = 64;

    private const int NoDescriptor = -1;

    private const ulong WakeData = ulong.MaxValue;

    private readonly int _epoll;
    private readonly WakeEvent _wake;
    private readonly EpollEvents _events = new(EventsPerWait);
    private readonly FreeBuffers _buffers;
    private readonly EpollSockets _sockets;
    private readonly EpollIncoming _incoming;

    /// <summary>The sends that wait for full sockets, by descriptor. Most sends never wait.</summary>
    private readonly Dictionary<int, PendingSend> _sends = [];
    private readonly EpollFileReader _files;
    private readonly EpollDatagrams _datagrams;
    private readonly Queue<EpollWork> _work = new();
    private readonly EpollCompletions _completions;

    /// <summary>The kernel has no wait in nanoseconds.</summary>
    private bool _isCoarse;

    /// <exception cref="EngineException">A descriptor or memory is not available.</exception>
    public EpollBackend(EngineOptions options)
    {
        _completions = new EpollCompletions(Math.Min(options.CompletionsPerIteration, CompletionsMax));
        _epoll = NoDescriptor;
        try
        {
            _buffers = new FreeBuffers(options.ReceiveBuffers, options.ReceiveBufferBytes);
            _epoll = EpollCalls.Create();
            Require(_epoll);
            _wake = new WakeEvent();
            // Edge-triggered: each signal is an event, and the count need not be read (it overflows after 2^64 signals).
            Require(EpollCalls.Add(_epoll, _wake.Descriptor, EpollEventMask.Readable | EpollEventMask.EdgeTriggered, WakeData));
        }
        catch
        {
            _wake?.Dispose();
            CloseOwn();
            throw;
        }

        _sockets = new EpollSockets(_epoll);
        _incoming = new EpollIncoming(_sockets, _buffers, _completions);
        _files = new EpollFileReader(Wake);
        _datagrams = new EpollDatagrams(_sockets, _completions, options.DatagramBuffers);
    }

    public override string Name => "epoll";

    public override int DescriptorsMax => AcceptLimit.Descriptors;

    public override int ReceiveBufferCount => _buffers.Count;

    public override int ReceiveBufferBytes => _buffers.BufferBytes;

    public override void SubmitAccept(OperationToken token, int listenSocket) =>
        _work.Enqueue(new EpollWork { Kind = EpollWorkKind.Accept, Fd = listenSocket, Token = token });

    public override unsafe void SubmitConnect(OperationToken token, int socket, byte* address, int bytes) =>
        _work.Enqueue(new EpollWork { Kind = EpollWorkKind.Connect, Fd = socket, Token = token, Memory = address, Bytes = (nuint)bytes });

    public override void SubmitReceive(OperationToken token, int socket, bool once = false) =>
        _work.Enqueue(new EpollWork { Kind = once ? EpollWorkKind.ReceiveOnce : EpollWorkKind.Receive, Fd = socket, Token = token });

    public override unsafe int ReceiveNow(int socket, byte* buffer, int bytes)
    {
        int received = base.ReceiveNow(socket, buffer, bytes);
        EpollIncoming.NoteReceived(ref _sockets.Of(socket), received, bytes);
        return received;
    }

    public override unsafe void SubmitSend(OperationToken token, int socket, in SendRequest send) => _work.Enqueue(send.Message is null
        ? new EpollWork { Kind = EpollWorkKind.Send, Fd = socket, Token = token, Memory = send.Data, Bytes = send.Bytes }
        : new EpollWork { Kind = EpollWorkKind.SendMessage, Fd = socket, Token = token, Memory = send.Message });

    public override void SubmitAwaitRoom(OperationToken token, int socket) =>
        _work.Enqueue(new EpollWork { Kind = EpollWorkKind.AwaitRoom, Fd = socket, Token = token });

    public override unsafe void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset) =>
        _work.Enqueue(new EpollWork
        {
            Kind = EpollWorkKind.Read,
            Fd = file,
            Token = token,
            Memory = destination,
            Bytes = (nuint)bytes,
            Offset = offset,
        });

    public override void PrepareDatagrams() => _datagrams.Prepare();

    public override void SubmitReceiveDatagrams(OperationToken token, int socket) =>
        _work.Enqueue(new EpollWork { Kind = EpollWorkKind.ReceiveDatagrams, Fd = socket, Token = token });

    public override unsafe void SubmitSendDatagram(OperationToken token, int socket, MessageHeader* message) =>
        _work.Enqueue(new EpollWork { Kind = EpollWorkKind.SendDatagram, Fd = socket, Token = token, Memory = message });

    public override void SubmitCancel(OperationToken target) =>
        _work.Enqueue(new EpollWork { Kind = EpollWorkKind.Cancel, Token = target });

    public override ReadOnlySpan<Completion> Poll(long timeoutMs) => Poll(timeoutMs, timeoutNs: 0);

    public override ReadOnlySpan<Completion> PollFine(long timeoutNs) => Poll((timeoutNs + 999_999) / 1_000_000, timeoutNs);

    public override void ReturnBuffer(ushort bufferId) => _buffers.Return(bufferId);

    public override void ReturnDatagramBuffer(ushort bufferId) => _datagrams.Return(bufferId);

    /// <summary>No buffer is in use between two iterations, except for datagrams that wait.</summary>
    public override void Trim(bool all)
    {
        if (all && _buffers.AreAll)
        {
            _buffers.DiscardPages();
        }

        if (all)
        {
            _datagrams.DiscardPages();
        }
    }

    public override void Wake() => _wake.Signal();

    public override void CloseSocket(int socket)
    {
        _datagrams.Forget(socket);
        _sockets.Forget(socket);
        base.CloseSocket(socket);
    }

    protected override void Dispose(bool disposing)
    {
        _files.Dispose();
        _datagrams.Dispose();
        _wake.Dispose();
        CloseOwn();
    }

    private ReadOnlySpan<Completion> Poll(long timeoutMs, long timeoutNs)
    {
        _completions.Clear();
        DoWork();
        bool isReady = _completions.Count > 0 || _work.Count > 0;
        Harvest(isReady ? 0 : timeoutMs, isReady ? 0 : timeoutNs);
        DoWork();
        return _completions.All;
    }

    /// <summary>Runs the work that is queued now, as long as there is room for completions; work added meanwhile runs later.</summary>
    private void DoWork()
    {
        for (int remaining = _work.Count; remaining > 0 && _completions.HasRoom; remaining--)
        {
            Do(_work.Dequeue());
        }
    }

    private unsafe void Do(in EpollWork work)
    {
        switch (work.Kind)
        {
            case EpollWorkKind.Accept:
                Arm(work, EpollSocketState.Listening);
                break;
            case EpollWorkKind.Connect:
                _incoming.Connect(work);
                break;
            case EpollWorkKind.Receive:
                Arm(work, EpollSocketState.None);
                break;
            case EpollWorkKind.ReceiveOnce:
                Arm(work, EpollSocketState.Once);
                break;
            case EpollWorkKind.Send:
                Send(work.Fd, new PendingSend(work.Token, (byte*)work.Memory, work.Bytes));
                break;
            case EpollWorkKind.SendMessage:
                Send(work.Fd, new PendingSend(work.Token, (MessageHeader*)work.Memory));
                break;
            case EpollWorkKind.ReceiveDatagrams:
                Arm(work, EpollSocketState.Datagram);
                break;
            case EpollWorkKind.SendDatagram:
                _datagrams.Add(ref _sockets.Of(work.Fd), work.Fd, work.Token, (MessageHeader*)work.Memory);
                QueueIfReady(ref _sockets.Of(work.Fd), work.Fd);
                break;
            case EpollWorkKind.AwaitRoom:
                AwaitRoom(work.Fd, work.Token);
                break;
            case EpollWorkKind.Read:
                Read(work);
                break;
            case EpollWorkKind.Cancel:
                Cancel(work.Token);
                break;
            case EpollWorkKind.Advance:
                Advance(work.Fd);
                break;
            case EpollWorkKind.Complete:
                _completions.Add(work.Token, (int)work.Offset);
                break;
            default:
                throw new UnreachableException($"Work of kind {work.Kind} is not expected.");
        }
    }

    /// <summary><paramref name="timeoutNs"/>: the same time more precisely; 0 if milliseconds will do.</summary>
    private int Wait(long timeoutMs, long timeoutNs)
    {
        if (timeoutNs > 0 && !_isCoarse)
        {
            int count = EpollCalls.WaitFine(_epoll, _events, timeoutNs);
            _isCoarse = count is -Errno.ENOSYS or -Errno.EPERM;
            if (!_isCoarse)
            {
                return count;
            }
        }

        return EpollCalls.Wait(_epoll, _events, (int)Math.Min(timeoutMs, int.MaxValue));
    }

    private void Harvest(long timeoutMs, long timeoutNs)
    {
        int count = Wait(timeoutMs, timeoutNs);
        if (count < 0 && count != -Errno.EINTR)
        {
            throw new EngineException($"epoll_wait failed: {Errno.Describe(count)}.");
        }

        for (int i = 0; i < count; i++)
        {
            ulong data = _events.DataOf(i);
            int fd = (int)(uint)data;
            if (data != WakeData && _sockets.IsPresent(fd, (ushort)(data >> 32)))
            {
                Note(fd, _events.MaskOf(i));
            }
        }

        while (_files.TryTakeFinished(out OperationToken token, out int result))
        {
            _work.Enqueue(new EpollWork { Kind = EpollWorkKind.Complete, Token = token, Offset = result });
        }
    }

    /// <summary>Records what an edge reports, and queues the socket if an operation waits for it.</summary>
    private void Note(int fd, EpollEventMask mask)
    {
        const EpollEventMask Unusual =
            EpollEventMask.Error | EpollEventMask.HangUp | EpollEventMask.PeerHangUp | EpollEventMask.Priority;

        ref EpollSocket socket = ref _sockets.Of(fd);
        if ((mask & (EpollEventMask.Readable | Unusual)) != 0)
        {
            socket.State |= EpollSocketState.Readable;
        }

        if ((mask & Unusual) != 0)
        {
            socket.State |= EpollSocketState.ReadToTheEnd;
        }

        if ((mask & (EpollEventMask.Writable | EpollEventMask.Error | EpollEventMask.HangUp)) != 0)
        {
            NoteConnected(ref socket);
            socket.State &= ~EpollSocketState.SendBlocked;
        }

        QueueIfReady(ref socket, fd);
    }

    private void QueueIfReady(ref EpollSocket socket, int fd)
    {
        bool hasWork = (socket.IsArmed && socket.Has(EpollSocketState.Readable))
            || socket.MaySend;
        if (hasWork && !socket.Has(EpollSocketState.Queued))
        {
            socket.State |= EpollSocketState.Queued;
            _work.Enqueue(new EpollWork { Kind = EpollWorkKind.Advance, Fd = fd });
        }
    }

    private void Advance(int fd)
    {
        ref EpollSocket socket = ref _sockets.Of(fd);
        if (!socket.Has(EpollSocketState.Queued))
        {
            // Queued for an earlier socket with this number.
            return;
        }

        socket.State &= ~EpollSocketState.Queued;
        if (socket.Has(EpollSocketState.Listening))
        {
            _incoming.Accept(ref socket, fd);
        }
        else if (socket.Has(EpollSocketState.Connecting))
        {
            _incoming.EndConnect(ref socket, fd);
        }
        else if (socket.Has(EpollSocketState.Datagram))
        {
            _datagrams.Advance(ref socket, fd);
        }
        else
        {
            _incoming.Receive(ref socket, fd, isAlone: _work.Count == 0);
        }

        if (_completions.HasRoom && socket.MaySend && !socket.Has(EpollSocketState.Datagram))
        {
            ref PendingSend send = ref CollectionsMarshal.GetValueRefOrNullRef(_sends, fd);
            Settle(ref socket, fd, ref send, send.Advance(fd, out int result), result);
        }

        QueueIfReady(ref socket, fd);
    }

    private void Arm(in EpollWork work, EpollSocketState kind)
    {
        _incoming.Arm(work, kind);
        QueueIfReady(ref _sockets.Of(work.Fd), work.Fd);
    }

    /// <summary>Marks a connecting socket as ready, so that <see cref="Advance"/> visits it.</summary>
    private static void NoteConnected(ref EpollSocket socket)
    {
        if (socket.Has(EpollSocketState.Connecting))
        {
            socket.State |= EpollSocketState.Readable;
        }
    }

    private void Send(int fd, PendingSend send)
    {
        ref EpollSocket socket = ref _sockets.Of(fd);
        Debug.Assert(!socket.Has(EpollSocketState.Sending), "A socket sends once at a time.");
        socket.State &= ~EpollSocketState.SendBlocked;
        Settle(ref socket, fd, ref send, send.Advance(fd, out int result), result);
        QueueIfReady(ref socket, fd);
    }

    /// <summary>
    /// The edge may have been reported before, when nothing waited for it. Modifying the registration makes the kernel report the present
    /// state.
    /// </summary>
    private void AwaitRoom(int fd, OperationToken token)
    {
        ref EpollSocket socket = ref _sockets.Of(fd);
        Debug.Assert(!socket.Has(EpollSocketState.Sending), "A socket sends once at a time.");
        int result = _sockets.WatchForWriting(ref socket, fd);
        if (result < 0)
        {
            _completions.Add(token, result);
            return;
        }

        PendingSend wait = PendingSend.ForRoom(token);
        Settle(ref socket, fd, ref wait, SendStep.Blocked, 0);
    }

    /// <summary>After an attempt to send: completes it, or keeps it for an edge or for a later step.</summary>
    private void Settle(ref EpollSocket socket, int fd, ref PendingSend send, SendStep step, int result)
    {
        if (step == SendStep.Blocked && !socket.Has(EpollSocketState.WatchedForWriting))
        {
            result = _sockets.WatchForWriting(ref socket, fd);
            step = result < 0 ? SendStep.Ended : step;
            result = send.ResultAfter(result);
        }

        if (step == SendStep.Ended)
        {
            _completions.Add(send.Token, result);
            RemoveSend(ref socket, fd);
            return;
        }

        if (step == SendStep.Blocked)
        {
            socket.State |= EpollSocketState.SendBlocked;
        }

        if (!socket.Has(EpollSocketState.Sending))
        {
            _sockets.Note(send.Token, fd);
            _sends.Add(fd, send);
            socket.State |= EpollSocketState.Sending;
        }
    }

    private void RemoveSend(ref EpollSocket socket, int fd)
    {
        if (socket.Has(EpollSocketState.Sending))
        {
            _sends.Remove(fd);
            socket.State &= ~EpollSocketState.Sending;
        }
    }

    private void Read(in EpollWork work)
    {
        if (_files.TryRead(work, out int result))
        {
            _completions.Add(work.Token, result);
        }
    }

    private void Cancel(OperationToken target)
    {
        if (target.Kind is OperationKind.FileRead or OperationKind.FileReadOperation)
        {
            if (_files.TryCancel(target))
            {
                _completions.Add(target, -Errno.ECANCELED);
            }

            return;
        }

        int fd = _sockets.FdOf(target);
        ref EpollSocket socket = ref _sockets.Of(fd);
        if (socket.Incoming == target)
        {
            _incoming.End(ref socket, -Errno.ECANCELED);
        }
        else if (target.Kind == OperationKind.SendDatagram)
        {
            _datagrams.Cancel(ref socket, fd, target);
        }
        else if (_sends.TryGetValue(fd, out PendingSend send) && send.Token == target)
        {
            // Bytes already sent are reported.
            _completions.Add(target, send.ResultAfter(-Errno.ECANCELED));
            RemoveSend(ref socket, fd);
        }
    }

    private void CloseOwn()
    {
        if (_epoll >= 0)
        {
            _ = SocketCalls.Close(_epoll);
        }

        _buffers?.Dispose();
        _events.Dispose();
    }

    private static void Require(int result)
    {
        if (result < 0)
        {
            throw new EngineException(
                $"An epoll instance is not available, as {Errno.Describe(result)}: {Errno.DescriptorRemedy(result) ?? Advice.Memory}.");
        }
    }
}
