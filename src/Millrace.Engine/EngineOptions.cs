using System.Numerics;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Engine.Diagnostics;

namespace Millrace.Engine;

/// <summary>Which kernel interface a <see cref="ReactorGroup"/> uses.</summary>
public enum BackendKind
{
    /// <summary>
    /// io_uring if a trial succeeds and there is memory for the rings of all reactors, otherwise epoll, with a log line that says why.
    /// </summary>
    Auto,

    /// <summary>io_uring (Linux 6.1 or newer); the start fails where it is refused.</summary>
    IoUring,

    /// <summary>epoll, available on every Linux. A file that is not in the page cache may block a reactor.</summary>
    Epoll,
}

/// <summary>The options of a <see cref="ReactorGroup"/>. Sizes are per reactor.</summary>
public sealed record EngineOptions
{
    /// <summary>The largest number of cores that Linux is built for.</summary>
    internal const int ReactorsMax = 1_024;

    /// <summary>
    /// More reactors per core, and at least <see cref="ReactorsUnusual"/> in all, are probably a mistake: a warning is logged.
    /// </summary>
    private const int ReactorsPerCoreUsual = 4;
    private const int ReactorsUnusual = 16;

    /// <summary>The kernel's limit for one buffer.</summary>
    private const int RegisteredBufferBytesMax = 1 << 30;

    private static readonly TimeSpan SubmissionPollingMax = TimeSpan.FromMinutes(1);

    /// <summary>Reactor threads, each with its own ring. 0: the number of cores this process may use, including a cgroup's limit.</summary>
    public int Reactors { get; init; }

    /// <summary>The I/O backend: io_uring, epoll, or auto.</summary>
    public BackendKind Backend { get; init; } = BackendKind.Auto;

    /// <summary>Operations that can be queued between two enters. A full queue costs one extra enter.</summary>
    public int SubmissionEntries { get; init; } = 512;

    /// <summary>Completions that can be queued. Multishot operations complete without being submitted again, hence many more.</summary>
    public int CompletionEntries { get; init; } = 4_096;

    /// <summary>
    /// Completions handled before the next enter. Fewer send earlier and keep buffers in the cache, more save enters.
    /// </summary>
    public int CompletionsPerIteration { get; init; } = 256;

    /// <summary>
    /// Receive buffers shared by all connections of a reactor; a power of two. Each is in use for at most one loop iteration.
    /// </summary>
    public int ReceiveBuffers { get; init; } = 1_024;

    /// <summary>Bytes of one receive buffer: a usual request fits many times over.</summary>
    public int ReceiveBufferBytes { get; init; } = 4_096;

    /// <summary>
    /// Sends of at least so many bytes are sent from the memory that holds them (<c>IORING_OP_SEND_ZC</c>), smaller ones from a copy in the
    /// kernel; 0: all are copied. A zero-copy send completes, and memory written by reference is released, when the peer has acknowledged
    /// it: a connection sends one batch per round trip, and what is not acknowledged by the drain deadline is lost. It saves a copy if the
    /// network card reads the bytes from that memory, and costs a second completion; over loopback, and on many kinds of networks, the
    /// kernel copies anyway. Unix sockets, and processes that may not lock memory (RLIMIT_MEMLOCK), send copies. Ignored on epoll, with a
    /// log line.
    /// </summary>
    public int ZeroCopySendBytes { get; init; }

    /// <summary>
    /// Bytes of memory of each reactor that the kernel pins once, at the start (<c>IORING_REGISTER_BUFFERS</c>): files are read into it,
    /// and with <see cref="ZeroCopySendBytes"/> a contiguous piece of it is sent without pinning its pages each time. 0: none; up to 1 GiB,
    /// rounded up to 256 KiB. What does not fit uses other memory. It counts as locked memory (RLIMIT_MEMLOCK) for processes without
    /// CAP_IPC_LOCK: the start fails if the limit is too low. Ignored on epoll, with a log line.
    /// </summary>
    public int RegisteredBufferBytes { get; init; }

    /// <summary>
    /// Kernel threads (io-wq) of a reactor that read what is not in the page cache, on file systems that do not read asynchronously. So
    /// many keep a disk busy; without a limit there are as many as the process may have.
    /// </summary>
    public int FileWorkers { get; init; } = 4;

    /// <summary>
    /// How long a kernel thread of each reactor polls for operations when none come (<c>IORING_SETUP_SQPOLL</c>), in milliseconds: it takes
    /// operations without a system call, and sleeps after that time until it is woken. Zero: no such thread; operations are submitted by
    /// the system call that waits. While awake the thread occupies a core, which the reactors lack unless there are spare ones; it runs on
    /// any core of the machine that the process's cgroup allows. Bytes that a peer sends after urgent data (MSG_OOB) may be delayed until
    /// its next bytes: Linux does not notify the thread before. Ignored on epoll, with a log line.
    /// </summary>
    public TimeSpan SubmissionPolling { get; init; }

    /// <summary>
    /// Whether all reactors share one such thread, which serves them in turn. They then also share <see cref="FileWorkers"/>, multiplied by
    /// the number of reactors.
    /// </summary>
    public bool SharedSubmissionPolling { get; init; }

    /// <summary>
    /// Whether each reactor's thread is pinned to a core of its own, in the order of the cores that the process may use when the group
    /// starts: <c>taskset</c> or a unit's CPUAffinity= choose them. Processes that pin to the same cores share them.
    /// </summary>
    public bool PinReactors { get; init; }

    /// <summary>
    /// The congestion control of accepted TCP connections (<c>TCP_CONGESTION</c>): <c>bbr</c>, say. Null for the kernel's default
    /// (net.ipv4.tcp_congestion_control), or that of the process that bound the socket. Listening fails with one that the kernel does not
    /// have, or that this process may not use. Unix sockets have none.
    /// </summary>
    public string? CongestionControl { get; init; }

    /// <summary>
    /// Whether a watchdog thread detects handlers that block: it counts and logs them, and lets other reactors take the blocked reactor's
    /// new connections. It sleeps while the reactors are idle.
    /// </summary>
    public bool WatchForStalls { get; init; } = true;

    /// <summary>The limits.</summary>
    public Limits Limits { get; init; } = new();

    /// <summary>Receives the engine's log.</summary>
    public ILoggerFactory LoggerFactory { get; init; } = NullLoggerFactory.Instance;

    /// <summary>
    /// Name of the group's meter and threads; another one for a group that is not the service itself, so that its numbers stay separate.
    /// </summary>
    internal string Name { get; init; } = EngineMeter.Name;

    /// <summary>Whether it logs that epoll is used instead of io_uring: false for a group beside another one that does.</summary>
    internal bool LogsFallback { get; init; } = true;

    /// <summary>
    /// Called by a reactor on its thread after a peak, when it has given its memory back: a hook for freeing memory of the process.
    /// </summary>
    internal Action? OnIdle { get; init; }

    /// <summary>
    /// Receive buffers for datagrams of each reactor, a power of two, of 64 KiB each, as what arrives in a burst comes as one
    /// (UDP_GRO). A single datagram touches the first page of one. 16 stay in a core's cache: with 8, 16, 32, 64 and 128 a message of
    /// 60 KB takes 25, 28, 31, 33 and 38 us of sender and receiver, and one of 1,200 bytes the same with all.
    /// </summary>
    internal int DatagramBuffers { get; init; } = 16;

    internal bool PollsSubmissions => SubmissionPolling > TimeSpan.Zero;

    /// <summary>Whether there are many more reactors than cores for them.</summary>
    internal bool HasManyReactors => ReactorCount > Math.Max(ReactorsUnusual, ReactorsPerCoreUsual * Environment.ProcessorCount);

    internal int ReactorCount => Reactors > 0 ? Reactors : Environment.ProcessorCount;

    /// <summary>The names of those that are set and need io_uring.</summary>
    internal IEnumerable<string> RingOptions() => new (bool IsSet, string Name)[]
    {
        (PollsSubmissions, "submission polling (--submission-polling)"),
        (ZeroCopySendBytes > 0, "zero-copy sending (--zero-copy-send)"),
        (RegisteredBufferBytes > 0, "registered buffers (--registered-buffers)"),
    }.Where(static option => option.IsSet).Select(static option => option.Name);

    /// <exception cref="ArgumentOutOfRangeException">A value is out of its range.</exception>
    internal void Validate()
    {
        RequireBetween(Reactors, 0, ReactorsMax, nameof(Reactors));
        RequireBackend(Backend, nameof(Backend));
        ArgumentNullException.ThrowIfNull(Limits);
        ArgumentNullException.ThrowIfNull(LoggerFactory);
        RequireBetween(SubmissionEntries, 1, 32_768, nameof(SubmissionEntries));
        RequireBetween(CompletionEntries, 2, 65_536, nameof(CompletionEntries));
        // The kernel rounds both up and refuses fewer completions than submissions with EINVAL, which otherwise means an old kernel.
        RequireBetween(CompletionEntries, (int)BitOperations.RoundUpToPowerOf2((uint)SubmissionEntries), 65_536, nameof(CompletionEntries));
        RequireBetween(CompletionsPerIteration, 1, 65_536, nameof(CompletionsPerIteration));
        RequireBetween(ReceiveBufferBytes, 64, 1 << 20, nameof(ReceiveBufferBytes));
        RequireBetween(ReceiveBuffers, 1, 32_768, nameof(ReceiveBuffers));
        RequireBetween(FileWorkers, 1, 1_024, nameof(FileWorkers));
        ArgumentOutOfRangeException.ThrowIfNegative(ZeroCopySendBytes);
        RequireBetween(RegisteredBufferBytes, 0, RegisteredBufferBytesMax, nameof(RegisteredBufferBytes));
        if (SubmissionPolling != TimeSpan.Zero)
        {
            ArgumentOutOfRangeException.ThrowIfLessThan(SubmissionPolling, TimeSpan.FromMilliseconds(1));
            ArgumentOutOfRangeException.ThrowIfGreaterThan(SubmissionPolling, SubmissionPollingMax);
        }

        if (CongestionControl is { } name && !Listening.CongestionControl.IsName(name))
        {
            throw new ArgumentOutOfRangeException(nameof(CongestionControl), name, Listening.CongestionControl.NameForm);
        }

        Limits.Validate();
        if (!int.IsPow2(ReceiveBuffers))
        {
            throw new ArgumentOutOfRangeException(nameof(ReceiveBuffers), ReceiveBuffers, "The number must be a power of two.");
        }
    }

    /// <exception cref="ArgumentOutOfRangeException">The value is not a defined backend.</exception>
    internal static void RequireBackend(BackendKind backend, string name)
    {
        if (!Enum.IsDefined(backend))
        {
            throw new ArgumentOutOfRangeException(
                name, backend, $"The backend is not known; known are {string.Join(", ", Enum.GetNames<BackendKind>())}.");
        }
    }

    private static void RequireBetween(int value, int lowest, int highest, string name)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(value, lowest, name);
        ArgumentOutOfRangeException.ThrowIfGreaterThan(value, highest, name);
    }
}

/// <summary>
/// The sizes to try when the kernel has no memory to lock for the rings. First the same sizes again: freed locked memory is counted until
/// the kernel has released it (5 ms clear most of it; a restart meets this). Then rings and receive buffers half as large, down to sizes
/// that would cost more in system calls than they save in memory. The smallest are retried with longer pauses: a failed attempt's rings are
/// released only after an RCU grace period and a kernel thread's run, which takes hundreds of milliseconds on a busy machine.
/// </summary>
internal static class RingSizes
{
    private const int MinSubmissions = 32;
    private const int MinCompletions = 256;
    private const int MinReceiveBuffers = 64;

    private const int SmallerPauseMs = 10;

    private static readonly int[] PausesMs = [0, 5, 20, 75];
    private static readonly int[] LastPausesMs = [25, 75, 200, 400, 800];

    public static IEnumerable<(EngineOptions Options, int PauseMs)> Attempts(EngineOptions options)
    {
        foreach (int pauseMs in PausesMs)
        {
            yield return (options, pauseMs);
        }

        while (Halve(options) is { } smaller && smaller != options)
        {
            options = smaller;
            yield return (options, SmallerPauseMs);
        }

        foreach (int pauseMs in LastPausesMs)
        {
            yield return (options, pauseMs);
        }
    }

    /// <summary>Sizes below the minimum stay as they are.</summary>
    private static EngineOptions Halve(EngineOptions options)
    {
        int submissions = Half(options.SubmissionEntries, MinSubmissions);
        int completions = Half(options.CompletionEntries, MinCompletions);
        return options with
        {
            SubmissionEntries = submissions,
            CompletionEntries = Math.Max(completions, (int)BitOperations.RoundUpToPowerOf2((uint)submissions)),
            ReceiveBuffers = Half(options.ReceiveBuffers, MinReceiveBuffers),
        };
    }

    private static int Half(int size, int min) => Math.Min(size, Math.Max(size / 2, min));
}
