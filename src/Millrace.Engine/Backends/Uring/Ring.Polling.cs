using Millrace.Interop;
using Millrace.Interop.IoUring;

namespace Millrace.Engine.Backends.Uring;

/// <content>
/// A ring whose submissions a kernel thread takes (SQPOLL). Publishing the tail is all that it needs while it is awake; it reads entries,
/// and what they point at, at any time from then on until their completion. The kernel refuses DEFER_TASKRUN with it: the thread works on
/// completions too.
/// </content>
internal sealed unsafe partial class Ring
{
    private readonly bool _isPolled;
    private readonly SharedPoller? _shared;
    private readonly uint* _submissionFlagsPtr;

    /// <summary>What rings that share this one's poller are told.</summary>
    public int Descriptor => _fd;

    private bool HasCompletion => *_completionHeadPtr != Volatile.Read(ref *_completionTailPtr);

    private SubmissionRingFlags SubmissionFlags => (SubmissionRingFlags)Volatile.Read(ref *_submissionFlagsPtr);

    /// <summary>Has the kernel take entries of a full queue, and waits until it has. Returns 0 or -errno.</summary>
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

    /// <summary>Whether it is only the poller that is refused, the kernel is asked: by a ring without one.</summary>
    private static UringRefusal RefusalOf(int errno, SetupFlags flags, EngineOptions options)
    {
        const SetupFlags Polling = SetupFlags.SubmissionPolling | SetupFlags.AttachWorkQueue;
        if (!options.PollsSubmissions || errno is not (Errno.EPERM or Errno.EACCES or Errno.EINVAL or Errno.EAGAIN))
        {
            return UringRefusal.ForSetup(errno);
        }

        int fd = Setup(flags & ~Polling, options, leader: null, out _);
        if (fd < 0)
        {
            return UringRefusal.ForSetup(errno);
        }

        _ = Interop.Sockets.SocketCalls.Close(fd);
        return UringRefusal.ForPoller(errno);
    }

    private int EnterPolled(uint minComplete, long timeoutMs)
    {
        EnterFlags wake = Publish();

        // Only an enter brings what has overflowed back into the queue.
        bool hasOverflown = (SubmissionFlags & SubmissionRingFlags.CompletionOverflow) != 0;
        uint awaited = HasCompletion ? 0 : minComplete;
        return awaited == 0 && wake == EnterFlags.None && !hasOverflown
            ? 0
            : Call(toSubmit: 0, awaited, timeoutMs, _enterFlags | wake);
    }

    /// <summary>Shows the poller what was queued, and says how to wake it where it sleeps.</summary>
    private EnterFlags Publish()
    {
        Volatile.Write(ref *_submissionTailPtr, _submissionTail);

        // It raises the flag and then looks at the tail once more before it sleeps; we the other way round. Without a fence between the two
        // each could miss the other's.
        Interlocked.MemoryBarrier();
        bool isAsleep = (SubmissionFlags & SubmissionRingFlags.NeedWakeUp) != 0;
        return isAsleep && Volatile.Read(ref *_submissionHeadPtr) != _submissionTail ? EnterFlags.SubmissionWakeUp : EnterFlags.None;
    }
}
