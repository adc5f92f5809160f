using Millrace.Interop;
using Millrace.Interop.IoUring;

namespace Millrace.Engine.Backends.IoUring;

/// <content>
/// A ring whose submissions a kernel thread takes (SQPOLL). While that thread is awake, publishing the tail is enough; it reads entries,
/// and the memory they point to, at any time until their completion. The kernel refuses DEFER_TASKRUN with it, as the thread also runs
/// completions.
/// </content>
internal sealed unsafe partial class Ring
{
    private readonly bool _isPolled;
    private readonly SharedSubmissionPoller? _shared;
    private readonly uint* _submissionFlagsPtr;

    /// <summary>The descriptor that rings attach to in order to share this one's poller.</summary>
    public int Descriptor => _fd;

    private bool HasCompletion => *_completionHeadPtr != Volatile.Read(ref *_completionTailPtr);

    private SubmissionRingFlags SubmissionFlags => (SubmissionRingFlags)Volatile.Read(ref *_submissionFlagsPtr);

    /// <summary>Makes the kernel take entries of a full queue, and waits until it has. Returns 0 or -errno.</summary>
    public int MakeRoom()
    {
        if (!_isPolled)
        {
            return Enter(minComplete: 0, timeoutMs: 0);
        }

        EnterFlags wake = Publish();
        return Call(toSubmit: 0, minComplete: 0, timeoutMs: 0, _enterFlags | wake | EnterFlags.SubmissionWait);
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

    private int EnterPolled(uint minComplete, long timeoutMs)
    {
        EnterFlags wake = Publish();

        // Only an enter moves overflowed completions back into the queue.
        bool hasOverflown = (SubmissionFlags & SubmissionRingFlags.CompletionOverflow) != 0;
        uint awaited = HasCompletion ? 0 : minComplete;
        return awaited == 0 && wake == EnterFlags.None && !hasOverflown
            ? 0
            : Call(toSubmit: 0, awaited, timeoutMs, _enterFlags | wake);
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
