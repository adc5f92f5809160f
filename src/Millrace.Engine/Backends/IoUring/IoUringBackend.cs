using System.Diagnostics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Engine.Accounting;
using Millrace.Engine.Buffers;
using Millrace.Interop;
using Millrace.Interop.IoUring;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Backends.IoUring;

/// <summary>The backend over io_uring: one enter per iteration submits everything and waits for one completion.</summary>
internal sealed unsafe class IoUringBackend : Backend
{
    private const int FullQueueAttempts = 16;

    private static readonly OperationToken WakeToken = new(OperationKind.None, 0, 0);

    private readonly Ring _ring;
    private readonly ReceiveBuffers _buffers;
    private readonly int _datagramBufferCount;
    private ReceiveBuffers? _datagramBuffers;

    /// <summary>The rooms of all receives of datagrams; the kernel reads it when it takes one.</summary>
    private readonly MessageHeader* _datagramRooms;
    private int _datagramBuffersLent;
    private readonly Completion[] _completions;

    /// <summary>
    /// Completions that were taken from the ring early, oldest first. They precede all in the ring: completions of one operation (two
    /// receives, say) must not be reordered.
    /// </summary>
    private readonly Queue<Completion> _early = new();
    private readonly WakeEvent _wake;
    private readonly ulong* _wakeCount;

    /// <summary>
    /// In Debug builds, the descriptor of each operation in flight: until its end a submission poller may look the number up, and would
    /// find a later descriptor with the same number.
    /// </summary>
    private readonly Dictionary<ulong, int> _descriptorsInUse = [];
    private bool _wakeArmed;
    private bool _submitsAccept;
    private long _queuesFull;

    /// <summary>Must be created on the thread that uses it.</summary>
    /// <exception cref="EngineException">io_uring is refused; the message names cause and remedy.</exception>
    public IoUringBackend(EngineOptions options, SharedSubmissionPoller? poller = null)
    {
        _ring = poller is null ? Ring.Create(options) : poller.CreateRing(options);
        try
        {
            _buffers = new ReceiveBuffers(_ring, ReceiveBuffers.Group, options.ReceiveBuffers, options.ReceiveBufferBytes);
            Arena = RegisterMemory(_ring, options.RegisteredBufferBytes);
            _wake = new WakeEvent();
        }
        catch
        {
            _buffers?.Dispose();
            _ring.Dispose();
            Arena?.Dispose();
            throw;
        }

        _completions = new Completion[options.CompletionsPerIteration];
        _datagramBufferCount = options.DatagramBuffers;
        ZeroCopyBytesMin = options.ZeroCopySendBytes > 0 ? options.ZeroCopySendBytes : long.MaxValue;
        _wakeCount = (ulong*)NativeMemory.AllocZeroed(sizeof(ulong));
        _datagramRooms = (MessageHeader*)NativeMemory.AllocZeroed((nuint)sizeof(MessageHeader));
        (_datagramRooms->NameBytes, _datagramRooms->ControlBytes) = (DatagramBuffer.NameBytes, DatagramBuffer.ControlBytes);
        ArmWake();
    }

    public override string Name => "io_uring";

    public override int DescriptorsMax => AcceptLimit.Descriptors;

    public override long ZeroCopyBytesMin { get; }

    /// <summary>
    /// Memory that the kernel pins once (IORING_REGISTER_BUFFERS): zero-copy sends from it do not look up and pin pages each time, and
    /// reads into it cause no faults. It is the ring's only buffer, index 0, which a zeroed entry refers to. The kernel releases it with
    /// the ring, or when the last packet that refers to it is acknowledged.
    /// </summary>
    public override Arena? Arena { get; }

    public override long QueuesFull => Volatile.Read(ref _queuesFull);

    public override int ReceiveBufferCount => _buffers.Count;

    public override int ReceiveBufferBytes => _buffers.BufferBytes;

    public override void SubmitAccept(OperationToken token, int listenSocket)
    {
        Sqe* entry = NewEntry(Opcode.Accept, listenSocket, token);
        entry->IoPriority = IoPriority.AcceptMultishot;
        entry->OperationFlags = SocketTypeNumber.OfConnections;
        _submitsAccept = true;
    }

    public override void SubmitConnect(OperationToken token, int socket, byte* address, int bytes)
    {
        Sqe* entry = NewEntry(Opcode.Connect, socket, token);
        entry->Address = (ulong)address;
        // The address length has no field of its own: io_connect_prep reads it from addr2, which shares off's.
        entry->Offset = (ulong)bytes;
    }

    public override void SubmitReceive(OperationToken token, int socket, bool once = false)
    {
        Sqe* entry = NewEntry(Opcode.Receive, socket, token);
        entry->Flags = SqeFlags.BufferSelect;
        entry->IoPriority = once ? IoPriority.ReceivePollFirst : IoPriority.ReceiveMultishot;
        entry->BufferGroup = ReceiveBuffers.Group;
    }

    public override void SubmitSend(OperationToken token, int socket, in SendRequest send)
    {
        Sqe* entry;
        if (send.Message is not null)
        {
            entry = NewEntry(send.IsZeroCopy ? Opcode.SendMessageZeroCopy : Opcode.SendMessage, socket, token);
            entry->Address = (ulong)send.Message;
            entry->Length = 1;
        }
        else
        {
            entry = NewEntry(send.IsZeroCopy ? Opcode.SendZeroCopy : Opcode.Send, socket, token);
            entry->IoPriority = send.IsZeroCopy && IsRegistered(send.Data, send.Bytes) ? IoPriority.SendRegisteredBuffer : IoPriority.None;
            entry->Address = (ulong)send.Data;
            entry->Length = (uint)Math.Min(send.Bytes, int.MaxValue);
        }

        entry->OperationFlags = MessageFlags.WaitAll;
    }

    public override void SubmitAwaitRoom(OperationToken token, int socket) =>
        NewEntry(Opcode.PollAdd, socket, token)->OperationFlags = PollEvents.Writable;

    public override void SubmitRead(OperationToken token, int file, byte* destination, int bytes, long offset)
    {
        Opcode opcode = IsRegistered(destination, (nuint)bytes) ? Opcode.ReadFixed : Opcode.Read;
        Sqe* entry = NewEntry(opcode, file, token);
        entry->Address = (ulong)destination;
        entry->Length = (uint)bytes;
        entry->Offset = (ulong)offset;
    }

    public override void PrepareDatagrams() =>
        _datagramBuffers ??= new ReceiveBuffers(_ring, ReceiveBuffers.DatagramGroup, _datagramBufferCount, DatagramBuffer.Bytes);

    public override void SubmitReceiveDatagrams(OperationToken token, int socket)
    {
        Sqe* entry = NewEntry(Opcode.ReceiveMessage, socket, token);
        entry->Flags = SqeFlags.BufferSelect;
        entry->IoPriority = IoPriority.ReceiveMultishot;
        entry->BufferGroup = ReceiveBuffers.DatagramGroup;
        entry->Address = (ulong)_datagramRooms;
        entry->Length = 1;
        // Without this flag a datagram that does not fit would look like one that does.
        entry->OperationFlags = MessageFlags.Truncated;
    }

    public override void SubmitSendDatagram(OperationToken token, int socket, MessageHeader* message)
    {
        Sqe* entry = NewEntry(Opcode.SendMessage, socket, token);
        entry->Address = (ulong)message;
        entry->Length = 1;
    }

    public override void SubmitCancel(OperationToken target)
    {
        Sqe* entry = NewEntry(Opcode.AsyncCancel, -1, new OperationToken(OperationKind.Cancel, target.Generation, target.Slot));
        entry->Address = target.Value;
    }

    public override ReadOnlySpan<Completion> Poll(long timeoutMs) => PollFine(timeoutMs < 0 ? -1 : timeoutMs * 1_000_000);

    public override ReadOnlySpan<Completion> PollFine(long timeoutNs)
    {
        if (!_wakeArmed)
        {
            ArmWake();
        }

        if (_submitsAccept)
        {
            // An accept uses the descriptor limit at its submission (io_accept_prep).
            _submitsAccept = false;
            using AcceptLimit.Lowered lowered = AcceptLimit.Lower();
            Require(_ring.Enter(minComplete: 0, timeoutNs: 0));
        }

        uint minComplete = timeoutNs == 0 || _early.Count > 0 ? 0u : 1u;
        Require(_ring.Enter(minComplete, timeoutNs));

        int count = 0;
        while (count < _completions.Length && _early.TryDequeue(out _completions[count]))
        {
            count++;
        }

        while (count < _completions.Length && _ring.TryTake(out Cqe cqe))
        {
            if (!IsOwn(cqe))
            {
                Translate(cqe, out _completions[count++]);
            }
        }

        return new ReadOnlySpan<Completion>(_completions, 0, count);
    }

    public override void CloseSocket(int socket)
    {
        AssertUnused(socket);
        base.CloseSocket(socket);
    }

    public override void ReturnBuffer(ushort bufferId) => _buffers.Return(bufferId);

    public override void ReturnDatagramBuffer(ushort bufferId)
    {
        _datagramBuffersLent--;
        _datagramBuffers!.Return(bufferId);
    }

    /// <summary>
    /// Possible only while the kernel writes into buffers within an enter alone and no completion that names one is queued.
    /// </summary>
    public override void Trim(bool all)
    {
        if (all && _early.Count == 0 && _ring.IsIdle)
        {
            _buffers.DiscardPages();
            if (_datagramBuffersLent == 0)
            {
                _datagramBuffers?.DiscardPages();
            }
        }
    }

    public override void Wake() => _wake.Signal();

    protected override void Dispose(bool disposing)
    {
        // Closing the ring ends operations in flight, but only later, so none may be: the reactor has ended its own, and the wake-up's read
        // of one word is ended here before the word is freed.
        EndWake();
        _buffers.Dispose();
        _datagramBuffers?.Dispose();
        _ring.Dispose();
        Arena?.Dispose();
        _wake.Dispose();
        NativeMemory.Free(_wakeCount);
        NativeMemory.Free(_datagramRooms);
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
            _ = Poll(timeoutMs: 10);
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
    /// The submission queue is full: submits without waiting. If the kernel refuses because completions have overflowed, sets them aside
    /// for the next iteration.
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
                    _early.Enqueue(completion);
                }
            }
        }

        throw new EngineException("The kernel accepts no more operations although all completions were taken.");
    }

    /// <summary>Throws unless the ring was entered, or can be in the next iteration.</summary>
    private static void Require(int result)
    {
        switch (-result)
        {
            case 0:
            case Errno.ETIME: // The wait's own timeout; everything was submitted.
            case Errno.EINTR: // A signal (profiler, debugger, runtime): the next iteration continues.
            case Errno.EAGAIN: // Temporarily out of request memory.
            case Errno.EBUSY: // Completions have overflowed; taking them makes room.
                return;
            case Errno.EBADR:
                throw new EngineException("The kernel lost a completion for lack of memory; its operation can never end.");
            default:
                throw new EngineException($"io_uring_enter failed: {Errno.Describe(result)}.");
        }
    }

    /// <summary>Whether the completion is the wake-up's, which the reactor does not know.</summary>
    private bool IsOwn(in Cqe cqe)
    {
        if (new OperationToken(cqe.UserData) != WakeToken)
        {
            return false;
        }

        NoteEnded(cqe);
        _wakeArmed = false;
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
            bool isDatagram = completion.Token.Kind == OperationKind.ReceiveDatagrams;
            _datagramBuffersLent += isDatagram ? 1 : 0;
            ReceiveBuffers buffers = isDatagram ? _datagramBuffers! : _buffers;
            completion.Data = buffers.AddressOf(cqe.BufferId);
            buffers.NoteLent(cqe.BufferId, true);
        }
    }

    private static Arena? RegisterMemory(Ring ring, int bytes)
    {
        if (bytes == 0)
        {
            return null;
        }

        Arena arena = Map(((long)bytes + BlockPools.ChunkBytes - 1) / BlockPools.ChunkBytes * BlockPools.ChunkBytes);
        var whole = new IoVector { Address = arena.Address, Bytes = (nuint)arena.Bytes };
        int result = ring.Register(RegisterOpcode.Buffers, &whole, 1);
        if (result < 0)
        {
            arena.Dispose();
            throw new EngineException(IoUringRefusal.ForMemory(-result));
        }

        return arena;
    }

    private static Arena Map(long bytes)
    {
        try
        {
            return new Arena(bytes);
        }
        catch (InsufficientMemoryException)
        {
            throw new EngineException(IoUringRefusal.ForMemory(Errno.ENOMEM));
        }
    }

    private bool IsRegistered(byte* address, nuint bytes) => Arena is not null && Arena.Contains(address, bytes);

    [Conditional("DEBUG")]
    private void NoteBegun(int fd, OperationToken token)
    {
        if (fd >= 0)
        {
            _descriptorsInUse.Add(token.Value, fd);
        }
    }

    [Conditional("DEBUG")]
    private void NoteEnded(in Cqe cqe)
    {
        // A send no longer uses its socket after its result, even if the kernel still reads the memory.
        if ((cqe.Flags & CqeFlags.More) == 0 || new OperationToken(cqe.UserData).Kind == OperationKind.Send)
        {
            _descriptorsInUse.Remove(cqe.UserData);
        }
    }

    [Conditional("DEBUG")]
    private void AssertUnused(int socket) =>
        Debug.Assert(!_descriptorsInUse.ContainsValue(socket), "A socket is closed while the kernel has an operation on it.");
}
