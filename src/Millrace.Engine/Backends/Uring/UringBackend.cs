using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Interop;
using Millrace.Interop.IoUring;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.Uring;

/// <summary>The backend over io_uring: one enter per turn submits everything and waits for one.</summary>
internal sealed unsafe partial class UringBackend : Backend
{
    private const int FullQueueAttempts = 16;

    private static readonly OperationToken WakeToken = new(OperationKind.None, 0, 0);

    private readonly Ring _ring;
    private readonly ReceiveBuffers _buffers;
    private readonly Completion[] _completions;
    private readonly ushort _receivePriority;
    private readonly EarlyCompletions _early = new();
    private readonly WakeEvent _wake;
    private readonly ulong* _wakeCount;
    private bool _wakeArmed;
    private long _queuesFull;

    /// <summary>Must run on the thread that will use it.</summary>
    /// <exception cref="EngineException">io_uring is refused; the message names cause and remedy.</exception>
    public UringBackend(EngineOptions options, SharedPoller? poller = null)
    {
        _ring = poller is null ? Ring.Create(options) : poller.CreateRing(options);
        try
        {
            options.BusyPoll.RequireOfRing(_ring);
            _buffers = new ReceiveBuffers(_ring, options.ReceiveBuffers, options.ReceiveBufferBytes);
            _files = options.RegisteredFiles ? new FileTable(_ring, FileTable.CountFor(options)) : null;
            Arena = RegisterMemory(_ring, options.RegisteredBufferBytes);
            _wake = new WakeEvent();
        }
        catch
        {
            _files?.Dispose();
            _buffers?.Dispose();
            _ring.Dispose();
            Arena?.Dispose();
            throw;
        }

        _completions = new Completion[options.CompletionsPerTurn];
        _receivePriority = options.MultishotReceive ? IoPriority.ReceiveMultishot : IoPriority.None;
        ZeroCopyBytesLeast = options.ZeroCopySendBytes > 0 ? options.ZeroCopySendBytes : long.MaxValue;
        _wakeCount = (ulong*)NativeMemory.AllocZeroed(sizeof(ulong));
        ArmWake();
    }

    public override string Name => "io_uring";

    public override long ZeroCopyBytesLeast { get; }

    public override long QueuesFull => Volatile.Read(ref _queuesFull);

    public override int ReceiveBufferCount => _buffers.Count;

    public override void SubmitAccept(OperationToken token, int listenSocket)
    {
        Sqe* entry = NewEntry(Opcode.Accept, listenSocket, token);
        entry->IoPriority = IoPriority.AcceptMultishot;
        entry->OperationFlags = SocketTypeNumber.OfConnections;
    }

    public override void SubmitConnect(OperationToken token, int socket, byte* address, int bytes)
    {
        Sqe* entry = NewEntry(Opcode.Connect, socket, token);
        entry->Address = (ulong)address;
        // The address's length has no field of its own: io_connect_prep takes it from addr2, which shares off's.
        entry->Offset = (ulong)bytes;
    }

    public override void SubmitReceive(OperationToken token, int socket) => SubmitReceive(token, socket, _receivePriority);

    public override void SubmitReceiveOnce(OperationToken token, int socket) => SubmitReceive(token, socket, IoPriority.None);

    public override void SubmitSend(OperationToken token, int socket, byte* data, nuint bytes) =>
        FillSend(NewSocketEntry(Opcode.Send, socket, token), data, bytes);

    public override void SubmitSendMessage(OperationToken token, int socket, MessageHeader* message) =>
        FillSend(NewSocketEntry(Opcode.SendMessage, socket, token), message, count: 1);

    public override void SubmitZeroCopySend(OperationToken token, int socket, byte* data, nuint bytes)
    {
        Sqe* entry = NewSocketEntry(Opcode.SendZeroCopy, socket, token);
        entry->IoPriority = IsRegistered(data, bytes) ? IoPriority.SendRegisteredBuffer : IoPriority.None;
        FillSend(entry, data, bytes);
    }

    public override void SubmitZeroCopySendMessage(OperationToken token, int socket, MessageHeader* message) =>
        FillSend(NewSocketEntry(Opcode.SendMessageZeroCopy, socket, token), message, count: 1);

    public override void SubmitAwaitRoom(OperationToken token, int socket) =>
        NewEntry(Opcode.PollAdd, socket, token)->OperationFlags = PollEvents.Writable;

    public override void SubmitResult(OperationToken token, int result) =>
        _early.AddResult(new Completion { Token = token, Result = result });

    public override void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset)
    {
        Opcode opcode = IsRegistered(destination, (nuint)bytes) ? Opcode.ReadFixed : Opcode.Read;
        Sqe* entry = NewEntry(opcode, file, token);
        entry->Address = (ulong)destination;
        entry->Length = (uint)bytes;
        entry->Offset = (ulong)offset;
    }

    public override void SubmitCancel(OperationToken target)
    {
        Sqe* entry = NewEntry(Opcode.AsyncCancel, -1, new OperationToken(OperationKind.Cancel, target.Generation, target.Slot));
        entry->Address = target.Value;
    }

    public override ReadOnlySpan<Completion> Turn(long timeoutMs)
    {
        if (!_wakeArmed)
        {
            ArmWake();
        }

        uint minComplete = timeoutMs == 0 || !_early.IsEmpty ? 0u : 1u;
        Require(_ring.Enter(minComplete, timeoutMs));

        int count = _early.TakeBefore(_completions);
        while (count < _completions.Length && _ring.TryTake(out Cqe cqe))
        {
            if (!IsOwn(cqe))
            {
                Translate(cqe, out _completions[count++]);
            }
        }

        count += _early.TakeBehind(_completions.AsSpan(count));
        return new ReadOnlySpan<Completion>(_completions, 0, count);
    }

    public override void CloseSocket(int socket)
    {
        AssertUnused(socket);
        Unregister(socket);
        base.CloseSocket(socket);
    }

    public override void ReturnBuffer(ushort bufferId) => _buffers.Return(bufferId);

    public override void Wake() => _wake.Signal();

    protected override void Dispose(bool disposing)
    {
        // Closing the ring ends what is in flight, but only some time later, so nothing may be: the reactor saw to its
        // own operations, and the wake is a read of one word, ended here before the word is freed.
        EndWake();
        _files?.Dispose();
        _buffers.Dispose();
        _ring.Dispose();
        Arena?.Dispose();
        _wake.Dispose();
        NativeMemory.Free(_wakeCount);
    }

    private void SubmitReceive(OperationToken token, int socket, ushort priority)
    {
        Sqe* entry = NewSocketEntry(Opcode.Receive, socket, token);
        entry->Flags |= SqeFlags.BufferSelect;
        entry->IoPriority = priority;
        entry->BufferGroup = ReceiveBuffers.Group;
    }

    private static void FillSend(Sqe* entry, void* what, nuint count)
    {
        entry->Address = (ulong)what;
        entry->Length = (uint)Math.Min(count, int.MaxValue);
        entry->OperationFlags = MessageFlags.WaitAll;
    }

    private void ArmWake()
    {
        Sqe* entry = NewEntry(Opcode.Read, _wake.Descriptor, WakeToken);
        entry->Address = (ulong)_wakeCount;
        entry->Length = sizeof(ulong);
        _wakeArmed = true;
    }

    private void EndWake()
    {
        while (_wakeArmed)
        {
            Wake();
            _ = Turn(timeoutMs: 10);
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private Sqe* NewEntry(Opcode opcode, int fd, OperationToken token)
    {
        if (!_ring.TryGetEntry(out Sqe* entry))
        {
            entry = MakeRoom();
        }

        entry->Opcode = opcode;
        entry->Fd = fd;
        entry->UserData = token.Value;
        NoteBegun(fd, token);
        return entry;
    }

    /// <summary>
    /// The submission queue is full: submit without waiting. Where the kernel refuses because completions have overflowed,
    /// those are put aside for the next turn.
    /// </summary>
    private Sqe* MakeRoom()
    {
        _queuesFull++;
        for (int attempt = 0; attempt < FullQueueAttempts; attempt++)
        {
            Require(_ring.MakeRoom());
            if (_ring.TryGetEntry(out Sqe* entry))
            {
                return entry;
            }

            while (_ring.TryTake(out Cqe cqe))
            {
                if (!IsOwn(cqe))
                {
                    Translate(cqe, out Completion completion);
                    _early.PutAside(completion);
                }
            }
        }

        throw new EngineException("The kernel takes no more operations although all completions were taken.");
    }

    /// <summary>That the ring was entered, or can be in the next turn.</summary>
    private static void Require(int result)
    {
        switch (-result)
        {
            case 0:
            case Errno.ETIME: // The wait's own timeout; everything was submitted.
            case Errno.EINTR: // A signal (profiler, debugger, runtime): the next turn goes on.
            case Errno.EAGAIN: // Out of request memory for now.
            case Errno.EBUSY: // Completions have overflowed; taking them makes room.
                return;
            case Errno.EBADR:
                throw new EngineException("The kernel lost a completion for lack of memory; its operation can never end.");
            default:
                throw new EngineException($"io_uring_enter failed: {Errno.Describe(result)}.");
        }
    }

    /// <summary>Whether it is of an operation of the backend's own, which the reactor knows nothing of.</summary>
    private bool IsOwn(in Cqe cqe)
    {
        var token = new OperationToken(cqe.UserData);
        if (token.Kind != OperationKind.None)
        {
            return false;
        }

        if (token == WakeToken)
        {
            NoteEnded(cqe);
            _wakeArmed = false;
        }
        else
        {
            TakeUpdate(token, cqe.Result);
        }

        return true;
    }

    private void Translate(in Cqe cqe, out Completion completion)
    {
        NoteEnded(cqe);
        completion.Token = new OperationToken(cqe.UserData);
        completion.Result = cqe.Result;
        completion.Flags = (cqe.Flags & CqeFlags.More) != 0 ? CompletionFlags.More : CompletionFlags.None;
        completion.BufferId = 0;
        completion.Data = null;
        if ((cqe.Flags & CqeFlags.Buffer) != 0)
        {
            completion.Flags |= CompletionFlags.HasBuffer;
            completion.BufferId = cqe.BufferId;
            completion.Data = _buffers.AddressOf(cqe.BufferId);
            _buffers.NoteTaken(cqe.BufferId);
        }
    }
}
