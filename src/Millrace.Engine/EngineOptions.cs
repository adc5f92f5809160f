using System.Numerics;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Engine.Backends;
using Millrace.Engine.Backends.Uring;
using Millrace.Engine.Watching;

namespace Millrace.Engine;

/// <summary>Which way of asking the kernel a <see cref="ReactorGroup"/> uses.</summary>
public enum BackendKind
{
    /// <summary>io_uring where a trial of it succeeds, else epoll, with a line in the log that says why.</summary>
    Auto,

    /// <summary>io_uring (Linux 6.1 or newer); starting fails where it is refused.</summary>
    IoUring,

    /// <summary>epoll: on every Linux. A file that is not in the page cache may block a reactor.</summary>
    Epoll,
}

/// <summary>What a <see cref="ReactorGroup"/> can be told. Sizes are per reactor.</summary>
public sealed record EngineOptions
{
    /// <summary>What the kernel takes as one buffer.</summary>
    private const int RegisteredBufferBytesMost = 1 << 30;

    private static readonly TimeSpan SubmissionPollingMost = TimeSpan.FromMinutes(1);

    /// <summary>Beyond it what an interrupt takes is nothing, and the core that looks is everything.</summary>
    private static readonly TimeSpan BusyPollingMost = TimeSpan.FromMilliseconds(10);

    /// <summary>Reactor threads, each with its own ring. 0: the cores this process may use, a cgroup's limit respected.</summary>
    public int Reactors { get; init; }

    /// <summary>How the kernel is asked.</summary>
    public BackendKind Backend { get; init; } = BackendKind.Auto;

    /// <summary>Operations that can be queued between two enters. A full queue costs an extra enter, nothing else.</summary>
    public int SubmissionEntries { get; init; } = 512;

    /// <summary>Completions that can wait. Multishot operations complete without being submitted again, hence many more.</summary>
    public int CompletionEntries { get; init; } = 4_096;

    /// <summary>
    /// Completions handled before the next enter. Fewer send earlier and keep buffers in the cache, more save enters.
    /// </summary>
    public int CompletionsPerTurn { get; init; } = 256;

    /// <summary>Receive buffers shared by all connections of a reactor; a power of two. Each is in use for one loop turn at most.</summary>
    public int ReceiveBuffers { get; init; } = 1_024;

    /// <summary>Bytes of one receive buffer: the usual request fits one many times over.</summary>
    public int ReceiveBufferBytes { get; init; } = 4_096;

    /// <summary>
    /// Whether a receive goes on until it is paused, so that one operation serves a connection for as long as it keeps up. Otherwise each
    /// brings bytes once, and the next is submitted when there is room for what it may bring: nothing has to be cancelled for a reader
    /// that falls behind, and every request takes one operation more. On epoll there is no difference.
    /// </summary>
    public bool MultishotReceive { get; init; } = true;

    /// <summary>
    /// Sends of so many bytes and more are sent from the memory that they stand in (<c>IORING_OP_SEND_ZC</c>), smaller ones from a copy of
    /// the kernel's; 0: all from a copy. Such a send ends, and what was written by reference is given back, when the peer has acknowledged
    /// it: a connection sends one batch a round trip, and what is not acknowledged by the deadline of a stop is lost. It saves a copy where
    /// the network card takes the bytes from that memory, and costs a second completion; over the loopback, and to many kinds of network,
    /// the kernel copies after all. Unix sockets, and whose memory may not be locked (RLIMIT_MEMLOCK), send copies. Ignored on epoll, with
    /// a line in the log.
    /// </summary>
    public int ZeroCopySendBytes { get; init; }

    /// <summary>
    /// Bytes of memory of each reactor that the kernel pins once, when it starts (<c>IORING_REGISTER_BUFFERS</c>): files are read into it,
    /// and with <see cref="ZeroCopySendBytes"/> what lies there in one piece is sent without its pages being pinned each time. 0: none; up
    /// to 1 GiB, rounded up to 256 KiB. What does not fit goes by other memory, as without. It counts as locked (RLIMIT_MEMLOCK) for who
    /// lacks CAP_IPC_LOCK: starting fails where the limit is too low. Ignored on epoll, with a line in the log.
    /// </summary>
    public int RegisteredBufferBytes { get; init; }

    /// <summary>
    /// Whether each reactor's ring has a table of files of its own (<c>IORING_REGISTER_FILES2</c>), in which it finds its sockets without
    /// the process's, which all threads share: each send and receive takes less, each connection two operations more. There is room for as
    /// many as <see cref="Limits.Connections"/> and <see cref="Limits.Refusals"/> together, or as the process may have descriptors
    /// (RLIMIT_NOFILE); sockets beyond that go by their descriptors. Needs Linux 6.13: before, what was closed stayed open until older
    /// operations had ended. Starting fails where that is so. Ignored on epoll, with a line in the log.
    /// </summary>
    public bool RegisteredFiles { get; init; }

    /// <summary>
    /// Kernel threads of a reactor that read what is not in the page cache, where the file system does not do it without (io-wq). So many
    /// keep a disk busy; without a limit they are as many as the process may have.
    /// </summary>
    public int FileWorkers { get; init; } = 4;

    /// <summary>
    /// How long a kernel thread of each reactor goes on looking for operations when none come (<c>IORING_SETUP_SQPOLL</c>): it takes them
    /// without a system call, and sleeps after that time, in milliseconds, until it is woken. Zero: there is none, and operations go with
    /// the system call that waits. It takes a core's time while it is awake, that the reactors then lack, unless there are cores to spare;
    /// it runs on any core of the machine that the process's cgroup allows. A peer that sends urgent data (MSG_OOB) may wait until its next
    /// bytes: Linux tells the thread of those behind the mark not before. Ignored on epoll, with a line in the log.
    /// </summary>
    public TimeSpan SubmissionPolling { get; init; }

    /// <summary>
    /// Whether all reactors share one such thread, which takes their operations in turns. <see cref="FileWorkers"/> are then shared too,
    /// and as many as they would be together.
    /// </summary>
    public bool SharedSubmissionPolling { get; init; }

    /// <summary>
    /// Whether each reactor's thread stays on a core of its own, one after the other of those that the process may use when the group
    /// starts: <c>taskset</c> or a unit's CPUAffinity= choose which. Processes that pin to the same cores share them.
    /// </summary>
    public bool PinReactors { get; init; }

    /// <summary>
    /// How long a reactor that waits looks at the network device's own queue before the device's interrupt is waited for (NAPI busy
    /// polling), and reads of accepted TCP connections look there too (<c>SO_BUSY_POLL</c>): whole microseconds, up to 10 ms. Zero: not at
    /// all. A packet is seen some microseconds earlier, at the price of a core's time for that long in each wait; with
    /// <see cref="SubmissionPolling"/> it is the kernel's thread that looks, while it is awake. It needs Linux 6.9 or newer, otherwise the
    /// group does not start, and a device whose driver can be polled. The loopback is none: there nothing is polled, and nothing gained.
    /// </summary>
    public TimeSpan BusyPolling { get; init; }

    /// <summary>
    /// Whether the device leaves its interrupts off while it is polled (<c>SO_PREFER_BUSY_POLL</c>), as far as its gro_flush_timeout and
    /// napi_defer_hard_irqs let it. To listen on TCP then needs CAP_NET_ADMIN. Without <see cref="BusyPolling"/> it changes nothing.
    /// </summary>
    public bool PreferBusyPolling { get; init; }

    /// <summary>
    /// Who decides how fast TCP connections that are accepted send (<c>TCP_CONGESTION</c>): <c>bbr</c>, say. Null for what listening
    /// sockets have of the kernel (net.ipv4.tcp_congestion_control), or of who bound them; where that is BBR, connections over the
    /// loopback to addresses that are bound here have <c>reno</c>, which does not pace. One that the kernel does not have, or that this
    /// process may not use, keeps it from listening. Unix sockets have none.
    /// </summary>
    public string? CongestionControl { get; init; }

    /// <summary>
    /// Whether a thread watches for handlers that block: it counts and logs them, has other reactors take their reactor's new connections
    /// meanwhile, and sleeps while nothing is done.
    /// </summary>
    public bool WatchForStalls { get; init; } = true;

    /// <summary>The bounds.</summary>
    public Limits Limits { get; init; } = new();

    /// <summary>Where the engine logs.</summary>
    public ILoggerFactory LoggerFactory { get; init; } = NullLoggerFactory.Instance;

    /// <summary>
    /// What the group's meter and its threads are called: otherwise where it is not the service itself, whose numbers are not to be mixed
    /// with it.
    /// </summary>
    internal string Name { get; init; } = EngineMeter.Name;

    /// <summary>Slots of a ring's table of files at most: a trial needs few.</summary>
    internal int RegisteredFilesMost { get; init; } = FileTable.KernelMost;

    internal bool PollsSubmissions => SubmissionPolling > TimeSpan.Zero;

    internal BusyPoll BusyPoll => new((int)BusyPolling.TotalMicroseconds, PreferBusyPolling);

    internal int ReactorCount => Reactors > 0 ? Reactors : Environment.ProcessorCount;

    /// <exception cref="ArgumentOutOfRangeException">A value is out of its range.</exception>
    internal void Validate()
    {
        ArgumentOutOfRangeException.ThrowIfNegative(Reactors);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(Reactors, 1_024);
        RequireBetween(SubmissionEntries, 1, 32_768, nameof(SubmissionEntries));
        RequireBetween(CompletionEntries, 2, 65_536, nameof(CompletionEntries));
        // The kernel rounds both up and refuses fewer of the latter, with the EINVAL that otherwise means an old kernel.
        RequireBetween(CompletionEntries, (int)BitOperations.RoundUpToPowerOf2((uint)SubmissionEntries), 65_536, nameof(CompletionEntries));
        RequireBetween(CompletionsPerTurn, 1, 65_536, nameof(CompletionsPerTurn));
        RequireBetween(ReceiveBufferBytes, 64, 1 << 20, nameof(ReceiveBufferBytes));
        RequireBetween(ReceiveBuffers, 1, 32_768, nameof(ReceiveBuffers));
        RequireBetween(FileWorkers, 1, 1_024, nameof(FileWorkers));
        ArgumentOutOfRangeException.ThrowIfNegative(ZeroCopySendBytes);
        RequireBetween(RegisteredBufferBytes, 0, RegisteredBufferBytesMost, nameof(RegisteredBufferBytes));
        if (SubmissionPolling != TimeSpan.Zero)
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(SubmissionPolling, TimeSpan.FromMilliseconds(1));
            ArgumentOutOfRangeException.ThrowIfGreaterThan(SubmissionPolling, SubmissionPollingMost);
        }

        if (BusyPolling != TimeSpan.Zero)
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(BusyPolling, TimeSpan.FromMicroseconds(1));
            ArgumentOutOfRangeException.ThrowIfGreaterThan(BusyPolling, BusyPollingMost);
        }

        if (CongestionControl is { } name && !Listening.CongestionControl.IsName(name))
        {
            throw new ArgumentOutOfRangeException(nameof(CongestionControl), name, Listening.CongestionControl.NameForm);
        }

        Limits.Validate();
        if (!int.IsPow2(ReceiveBuffers))
        {
            throw new ArgumentOutOfRangeException(nameof(ReceiveBuffers), ReceiveBuffers, "The kernel takes a power of two.");
        }
    }

    private static void RequireBetween(int value, int lowest, int highest, string name)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(value, lowest, name);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(value, highest, name);
    }
}
