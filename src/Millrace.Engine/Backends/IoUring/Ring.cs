using System.Diagnostics;
using Millrace.Interop;
using Millrace.Interop.IoUring;
using Millrace.Interop.Memory;

namespace Millrace.Engine.Backends.IoUring;

/// <summary>
/// One io_uring: its two queues in shared memory and the enter that advances them. Created, used and disposed on one thread, which the
/// kernel enforces (SINGLE_ISSUER). Submission indices follow the kernel: unconsumed entries are counted from its head each time, so that
/// an enter that consumed nothing loses nothing.
/// </summary>
internal sealed unsafe class Ring : IDisposable
{
    /// <summary>
    /// Optional flags, newest first: on EINVAL the first is removed, then the next (NO_SQARRAY 6.6, DEFER_TASKRUN 6.1, SINGLE_ISSUER 6.0).
    /// </summary>
    private static readonly SetupFlags[] OptionalFlags = [SetupFlags.NoSubmissionArray, SetupFlags.DeferTaskRun, SetupFlags.SingleIssuer];

    /// <summary>
    /// Whether a kernel thread takes the submissions (SQPOLL). While that thread is awake, publishing the tail is enough; it reads entries,
    /// and the memory they point to, at any time until their completion. The kernel refuses DEFER_TASKRUN with it, as the thread also runs
    /// completions.
    /// </summary>
    private readonly bool _isPolled;
    private readonly SharedSubmissionPoller? _shared;
    private readonly uint* _submissionFlagsPtr;
    private readonly int _fd;
    private readonly int _enterFd;
    private readonly EnterFlags _enterFlags;
    private readonly RingParameters _parameters;

    private readonly nint _ringMapping;
    private readonly nuint _ringMappingBytes;
    private readonly Sqe* _entries;

    private readonly uint* _submissionHeadPtr;
    private readonly uint* _submissionTailPtr;
    private readonly uint _submissionMask;
    private uint _submissionTail;

    private readonly uint* _completionHeadPtr;
    private readonly uint* _completionTailPtr;
    private readonly uint _completionMask;
    private readonly Cqe* _completions;

    private Ring(int fd, in RingParameters parameters, SharedSubmissionPoller? shared)
    {
        _fd = fd;
        _parameters = parameters;
        _shared = shared;
        _isPolled = (parameters.Flags & SetupFlags.SubmissionPolling) != 0;

        SubmissionOffsets submission = parameters.Submission;
        CompletionOffsets completion = parameters.Completion;
        _ringMappingBytes = Math.Max(
            submission.Array + (parameters.SubmissionEntries * sizeof(uint)),
            completion.Entries + (parameters.CompletionEntries * (uint)sizeof(Cqe)));
        _ringMapping = MapOrThrow(_ringMappingBytes, IoUringCalls.MapSubmissionRing);
        try
        {
            _entries = (Sqe*)MapOrThrow(EntriesBytes, IoUringCalls.MapSubmissionEntries);
        }
        catch
        {
            _ = MemoryCalls.Unmap(_ringMapping, _ringMappingBytes);
            throw;
        }

        byte* ring = (byte*)_ringMapping;
        _submissionHeadPtr = (uint*)(ring + submission.Head);
        _submissionTailPtr = (uint*)(ring + submission.Tail);
        _submissionMask = *(uint*)(ring + submission.RingMask);
        _submissionFlagsPtr = (uint*)(ring + submission.Flags);
        _completionHeadPtr = (uint*)(ring + completion.Head);
        _completionTailPtr = (uint*)(ring + completion.Tail);
        _completionMask = *(uint*)(ring + completion.RingMask);
        _completions = (Cqe*)(ring + completion.Entries);

        if ((parameters.Flags & SetupFlags.NoSubmissionArray) == 0)
        {
            FillSubmissionArray((uint*)(ring + submission.Array));
        }

        _enterFlags = EnterFlags.GetEvents;
        if ((parameters.Features & RingFeatures.NoIoWait) != 0)
        {
            // Without this flag an idle reactor counts as iowait, like a busy disk.
            _enterFlags |= EnterFlags.NoIoWait;
        }

        int registered = RegisterDescriptor();
        if (registered >= 0)
        {
            // Saves the descriptor lookup at every enter, an atomic operation in a process with threads.
            _enterFd = registered;
            _enterFlags |= EnterFlags.RegisteredRing;
        }
        else
        {
            _enterFd = fd;
        }
    }

    /// <summary>Whether no completion is queued, and none can come without an enter (DEFER_TASKRUN).</summary>
    public bool IsIdle =>
        (_parameters.Flags & SetupFlags.DeferTaskRun) != 0 && *_completionHeadPtr == Volatile.Read(ref *_completionTailPtr);

    private nuint EntriesBytes => _parameters.SubmissionEntries * (nuint)sizeof(Sqe);

    /// <summary>Sets up a ring owned by the calling thread.</summary>
    /// <exception cref="EngineException">The kernel refused.</exception>
    public static Ring Create(EngineOptions options) => Create(options, shared: null, leader: null);

    /// <summary>The same with the group's shared poller: the leading ring's, or that of the first ring, which becomes the leader.</summary>
    /// <exception cref="EngineException">The kernel refused.</exception>
    public static Ring Create(EngineOptions options, SharedSubmissionPoller? shared, int? leader)
    {
        SetupFlags flags = FlagsFor(options, leader);
        int fd = Setup(flags, options, leader, out RingParameters parameters);
        foreach (SetupFlags newer in OptionalFlags)
        {
            if (fd != -Errno.EINVAL)
            {
                break;
            }

            flags &= ~newer;
            fd = Setup(flags, options, leader, out parameters);
        }

        if (fd < 0)
        {
            throw new EngineException(RefusalOf(-fd, flags, options));
        }

        const RingFeatures Required = RingFeatures.SingleMapping | RingFeatures.NoDrop
            | RingFeatures.SubmitStable | RingFeatures.ExtendedArgument;
        if ((parameters.Features & Required) != Required)
        {
            _ = Interop.Sockets.SocketCalls.Close(fd);
            throw new EngineException(IoUringRefusal.KernelTooOld());
        }

        if (leader is null)
        {
            LimitWorkers(fd, shared is null ? options.FileWorkers : options.FileWorkers * options.ReactorCount);
        }

        try
        {
            return new Ring(fd, parameters, shared);
        }
        catch
        {
            // A start is retried with smaller sizes, which needs the memory that this ring locked.
            _ = Interop.Sockets.SocketCalls.Close(fd);
            throw;
        }
    }

    /// <summary>
    /// Operations that cannot complete at once (an uncached read on some file systems) run on kernel threads of this ring, whose number is
    /// limited only by the process's limit otherwise: hundreds for one directory of uncached files.
    /// </summary>
    private static void LimitWorkers(int fd, int workers)
    {
        uint* boundedAndUnbounded = stackalloc uint[] { (uint)workers, (uint)workers };
        int result = IoUringCalls.Register(fd, RegisterOpcode.IoWorkerLimits, boundedAndUnbounded, 2);
        Debug.Assert(result == 0, "The kernel knows this registration since 5.15.");
    }

    private static int Setup(SetupFlags flags, EngineOptions options, int? leader, out RingParameters parameters)
    {
        parameters = new RingParameters
        {
            Flags = flags,
            CompletionEntries = (uint)options.CompletionEntries,
            SubmissionThreadIdleMs = (uint)options.SubmissionPolling.TotalMilliseconds,
            WorkQueueFd = (uint)(leader ?? 0),
        };
        fixed (RingParameters* pointer = &parameters)
        {
            return IoUringCalls.Setup((uint)options.SubmissionEntries, pointer);
        }
    }

    /// <summary>Returns a zeroed entry to fill; false if the queue is full and must be entered first.</summary>
    public bool TryGetEntry(out Sqe* entry)
    {
        if (_submissionTail - Volatile.Read(ref *_submissionHeadPtr) > _submissionMask)
        {
            entry = null;
            return false;
        }

        entry = &_entries[_submissionTail & _submissionMask];
        *entry = default;
        _submissionTail++;
        return true;
    }

    /// <summary>Submits all entries and waits for so many completions or the timeout (-1: none). Returns 0 or -errno.</summary>
    public int Enter(uint minComplete, long timeoutNs)
    {
        if (_isPolled)
        {
            return EnterPolled(minComplete, timeoutNs);
        }

        Volatile.Write(ref *_submissionTailPtr, _submissionTail);
        return Call(_submissionTail - Volatile.Read(ref *_submissionHeadPtr), minComplete, timeoutNs, _enterFlags);
    }

    private int Call(uint toSubmit, uint minComplete, long timeoutNs, EnterFlags flags)
    {
        int result;
        if (minComplete == 0 || timeoutNs < 0)
        {
            result = IoUringCalls.Enter(_enterFd, toSubmit, minComplete, flags, null, 0);
        }
        else
        {
            var timeout = new KernelTimespec { Seconds = timeoutNs / 1_000_000_000, Nanoseconds = timeoutNs % 1_000_000_000 };
            var argument = new GetEventsArgument { Timeout = (ulong)&timeout };
            result = IoUringCalls.Enter(
                _enterFd, toSubmit, minComplete, flags | EnterFlags.ExtendedArgument, &argument, (nuint)sizeof(GetEventsArgument));
        }

        return Math.Min(result, 0);
    }

    public bool TryTake(out Cqe completion)
    {
        uint head = *_completionHeadPtr;
        if (head == Volatile.Read(ref *_completionTailPtr))
        {
            completion = default;
            return false;
        }

        completion = _completions[head & _completionMask];
        Volatile.Write(ref *_completionHeadPtr, head + 1);
        return true;
    }

    public int Register(RegisterOpcode opcode, void* argument, uint count) => IoUringCalls.Register(_fd, opcode, argument, count);

    public void Dispose()
    {
        if ((_enterFlags & EnterFlags.RegisteredRing) != 0)
        {
            var update = new ResourceUpdate { Offset = (uint)_enterFd };
            _ = Register(RegisterOpcode.UnregisterRingDescriptors, &update, 1);
        }

        _shared?.Leave(_fd);
        int closed = Interop.Sockets.SocketCalls.Close(_fd);
        Debug.Assert(closed == 0, "The ring's descriptor was closed by other code.");
        _ = MemoryCalls.Unmap((nint)_entries, EntriesBytes);
        _ = MemoryCalls.Unmap(_ringMapping, _ringMappingBytes);
    }

    private nint MapOrThrow(nuint bytes, long offset)
    {
        nint address = MemoryCalls.MapRing(_fd, bytes, offset);
        return MemoryCalls.Failed(address) ? throw new EngineException(IoUringRefusal.ForSetup((int)-address)) : address;
    }

    /// <summary>Entry i is always at index i, so the indirection array of older kernels is filled once.</summary>
    private void FillSubmissionArray(uint* array)
    {
        for (uint i = 0; i < _parameters.SubmissionEntries; i++)
        {
            array[i] = i;
        }
    }

    private int RegisterDescriptor()
    {
        var update = new ResourceUpdate { Offset = ResourceUpdate.AnySlot, Data = (ulong)_fd };
        return IoUringCalls.Register(_fd, RegisterOpcode.RingDescriptors, &update, 1) == 1 ? (int)update.Offset : -1;
    }

    /// <summary>The descriptor that rings attach to in order to share this one's poller.</summary>
    public int Descriptor => _fd;

    private bool HasCompletion => *_completionHeadPtr != Volatile.Read(ref *_completionTailPtr);

    private SubmissionRingFlags SubmissionFlags => (SubmissionRingFlags)Volatile.Read(ref *_submissionFlagsPtr);

    /// <summary>Makes the kernel take entries of a full queue, and waits until it has. Returns 0 or -errno.</summary>
    public int MakeRoom()
    {
        if (!_isPolled)
        {
            return Enter(minComplete: 0, timeoutNs: 0);
        }

        EnterFlags wake = Publish();
        return Call(toSubmit: 0, minComplete: 0, timeoutNs: 0, _enterFlags | wake | EnterFlags.SubmissionWait);
    }

    private static SetupFlags FlagsFor(EngineOptions options, int? leader)
    {
        SetupFlags flags = SetupFlags.SubmitAll | SetupFlags.CompletionQueueSize | SetupFlags.Clamp
            | SetupFlags.SingleIssuer | SetupFlags.NoSubmissionArray;
        flags |= options.PollsSubmissions ? SetupFlags.SubmissionPolling : SetupFlags.DeferTaskRun;
        return leader is null ? flags : flags | SetupFlags.AttachWorkQueue;
    }

    /// <summary>Finds out whether only the poller is refused, by setting up a ring without one.</summary>
    private static IoUringRefusal RefusalOf(int errno, SetupFlags flags, EngineOptions options)
    {
        const SetupFlags Polling = SetupFlags.SubmissionPolling | SetupFlags.AttachWorkQueue;
        if (!options.PollsSubmissions || errno is not (Errno.EPERM or Errno.EACCES or Errno.EINVAL or Errno.EAGAIN))
        {
            return IoUringRefusal.ForSetup(errno);
        }

        int fd = Setup(flags & ~Polling, options, leader: null, out _);
        if (fd < 0)
        {
            return IoUringRefusal.ForSetup(errno);
        }

        _ = Interop.Sockets.SocketCalls.Close(fd);
        return IoUringRefusal.ForPoller(errno);
    }

    private int EnterPolled(uint minComplete, long timeoutNs)
    {
        EnterFlags wake = Publish();

        // Only an enter moves overflowed completions back into the queue.
        bool hasOverflown = (SubmissionFlags & SubmissionRingFlags.CompletionOverflow) != 0;
        uint awaited = HasCompletion ? 0 : minComplete;
        return awaited == 0 && wake == EnterFlags.None && !hasOverflown
            ? 0
            : Call(toSubmit: 0, awaited, timeoutNs, _enterFlags | wake);
    }

    /// <summary>Publishes queued entries to the poller, and returns the flag that wakes it if it sleeps.</summary>
    private EnterFlags Publish()
    {
        Volatile.Write(ref *_submissionTailPtr, _submissionTail);

        // Dekker pattern: the poller sets the flag, fences, and reads the tail before it sleeps; this side writes the tail, fences, and
        // reads the flag. One of them sees the other.
        Interlocked.MemoryBarrier();
        bool isAsleep = (SubmissionFlags & SubmissionRingFlags.NeedWakeUp) != 0;
        return isAsleep && Volatile.Read(ref *_submissionHeadPtr) != _submissionTail ? EnterFlags.SubmissionWakeUp : EnterFlags.None;
    }
}
