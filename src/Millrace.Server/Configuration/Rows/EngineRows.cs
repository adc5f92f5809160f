using System.Globalization;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.StaticFiles;

namespace Millrace.Server.Configuration.Rows;

internal static class EngineRows
{
    private static readonly OptionGroup Row = new("engine", OptionChange.AtRestart);

    private static readonly OrderedDictionary<string, BackendKind> Backends = new()
    {
        ["auto"] = BackendKind.Auto,
        ["io_uring"] = BackendKind.IoUring,
        ["epoll"] = BackendKind.Epoll,
    };

    /// <summary>The number of reactors and their I/O backend.</summary>
    public static IEnumerable<ServerOption> Reactors =>
    [
        Row.Count("reactors", "Number of reactor threads; 0: one per core that this process may use.", 0, 1_024,
            static options => options.Engine.Reactors,
            static (options, number) => options.WithEngine(engine => engine with { Reactors = (int)number })),
        Row.Choice("backend", "a backend",
            "I/O backend: io_uring, epoll, or auto, which uses io_uring if a self-test succeeds, else epoll.",
            Backends,
            static options => options.Engine.Backend,
            static (options, backend) => options.WithEngine(engine => engine with { Backend = backend })),
    ];

    /// <summary>Sizes per reactor, which few servers need to change. The engine's options document the reasons.</summary>
    public static IEnumerable<ServerOption> Sizes =>
    [
        Row.Count("submission-entries", "Operations per reactor that can be queued between two system calls.", 1, 32_768,
            static options => options.Engine.SubmissionEntries,
            static (options, number) => options.WithEngine(engine => engine with { SubmissionEntries = (int)number })),
        Row.Count("completion-entries", "Completions per reactor that can be queued; at least the number of submission entries.", 2, 65_536,
            static options => options.Engine.CompletionEntries,
            static (options, number) => options.WithEngine(engine => engine with { CompletionEntries = (int)number })),
        Row.Count("completions-per-turn", "Completions processed per loop iteration, before the next system call.", 1, 65_536,
            static options => options.Engine.CompletionsPerIteration,
            static (options, number) => options.WithEngine(engine => engine with { CompletionsPerIteration = (int)number })),
        Row.Count("receive-buffers", "Receive buffers per reactor, shared by its connections; a power of two.", 1, 32_768,
            static options => options.Engine.ReceiveBuffers,
            static (options, number) => int.IsPow2((int)number)
                ? options.WithEngine(engine => engine with { ReceiveBuffers = (int)number })
                : throw new SiteException(
                    string.Create(CultureInfo.InvariantCulture, $"{number} is not a power of two."),
                    "Use 512, 1024 or 2048, for example.")),
        Row.Bytes("receive-buffer-size", "Size of one receive buffer.", 64, 1 << 20,
            static options => options.Engine.ReceiveBufferBytes,
            static (options, number) => options.WithEngine(engine => engine with { ReceiveBufferBytes = (int)number })),
        Row.Bytes("zero-copy-send",
            "Send responses of at least this size without copying them into the kernel; 0: never.",
            0, int.MaxValue,
            static options => options.Engine.ZeroCopySendBytes,
            static (options, number) => options.WithEngine(engine => engine with { ZeroCopySendBytes = (int)number })),
        Row.Bytes("registered-buffers",
            "Memory per reactor that is registered with the kernel, for file reads and --zero-copy-send; 0: none.",
            0, 1 << 30,
            static options => options.Engine.RegisteredBufferBytes,
            static (options, number) => options.WithEngine(engine => engine with { RegisteredBufferBytes = (int)number })),
        Row.Count("file-workers", "Kernel threads per reactor that read files which are not in the page cache.", 1, 1_024,
            static options => options.Engine.FileWorkers,
            static (options, number) => options.WithEngine(engine => engine with { FileWorkers = (int)number })),
        Row.Count("backlog", "Connections that the kernel queues before they are accepted, limited by net.core.somaxconn.", 1, int.MaxValue,
            static options => options.Engine.Limits.Backlog,
            static (options, number) => options.WithLimits(limits => limits with { Backlog = (int)number })),
        Row.Count("refusals", "Connections beyond a limit that may wait for a 503 response at one time; further ones are reset.", 0, 65_536,
            static options => options.Engine.Limits.Refusals,
            static (options, number) => options.WithLimits(limits => limits with { Refusals = (int)number })),
        Row.Milliseconds("submission-polling",
            "How long a kernel thread per reactor polls for new operations when idle, which saves system calls; "
            + "0: no polling. Polling occupies a core.",
            0, 60_000,
            static options => options.Engine.SubmissionPolling,
            static (options, time) => options.WithEngine(engine => engine with { SubmissionPolling = time })),
        Row.Switch("shared-submission-polling",
            "Use one polling thread for all reactors.",
            static options => options.Engine.SharedSubmissionPolling,
            static (options, isOn) => options.WithEngine(engine => engine with { SharedSubmissionPolling = isOn })),
        Row.Switch("pin-reactors",
            "Pin each reactor to a core of its own, among those that the process may use.",
            static options => options.Engine.PinReactors,
            static (options, isOn) => options.WithEngine(engine => engine with { PinReactors = isOn })),
        Row.Text("congestion-control", OptionValueKind.Text, "NAME",
            "TCP congestion control algorithm, such as bbr; one of net.ipv4.tcp_available_congestion_control.",
            static (options, text) => CongestionControl.IsName(text)
                ? options.WithEngine(engine => engine with { CongestionControl = text })
                : throw new SiteException($"'{text}' is not a congestion control algorithm.", CongestionControl.NameForm)) with
        {
            Default = "the kernel's setting",
        },
        Row.Switch("stall-watch",
            "Detect blocked reactors, log them, and send their new connections to other reactors.",
            static options => options.Engine.WatchForStalls,
            static (options, isOn) => options.WithEngine(engine => engine with { WatchForStalls = isOn })),
    ];

    public static ServeOptions WithEngine(this ServeOptions options, Func<EngineOptions, EngineOptions> change) =>
        options with { Engine = change(options.Engine) };

    public static ServeOptions WithLimits(this ServeOptions options, Func<Limits, Limits> change) =>
        options.WithEngine(engine => engine with { Limits = change(engine.Limits) });
}

/// <summary>Limits that operators set. The properties document the reasons for the defaults.</summary>
internal static class LimitRows
{
    private const long SecondsMax = 24 * 60 * 60;
    private const long ConnectionsMax = 16_000_000;

    private static readonly OptionGroup Row = new("limits", OptionChange.AtRestart);

    public static IEnumerable<ServerOption> All =>
    [
        Row.Count("connections",
            "Maximum number of open connections. Beyond it a client with many loses one, or the new one gets 503 or a reset.",
            1, ConnectionsMax,
            static options => options.Engine.Limits.Connections,
            static (options, number) => options.WithLimits(limits => limits with { Connections = (int)number })),
        Row.Count("connections-per-client",
            "Maximum number of open connections per IPv4 address or IPv6 /64; 0: no limit.", 0, ConnectionsMax,
            static options => options.Engine.Limits.ConnectionsPerClient,
            static (options, number) => options.WithLimits(limits => limits with { ConnectionsPerClient = (int)number })),
        Row.Bytes("buffer-memory", "Maximum memory for connection buffers; 0: a quarter of the available memory.", 0, long.MaxValue,
            static options => options.Engine.Limits.BufferBytes,
            static (options, number) => options.WithLimits(limits => limits with { BufferBytes = number })),
        Row.Seconds("keep-alive-timeout", "How long an idle connection is kept open for its next request.", 1, SecondsMax,
            static options => options.Web.KeepAlive,
            static (options, time) => options with { Web = options.Web with { KeepAlive = time } }),
        Row.Seconds("head-timeout", "How long a client may take to send a request head.", 1, SecondsMax,
            static options => options.Web.Head,
            static (options, time) => options with { Web = options.Web with { Head = time } }),
        Row.Bytes("head-max", "Maximum size of a request head.", 1024, 1024 * 1024,
            static options => options.Web.HeadBytesMax,
            static (options, number) => options with { Web = options.Web with { HeadBytesMax = (int)number } }),
        Row.Seconds("receive-timeout", "How long a client may pause while it sends a request head or body.", 1, SecondsMax,
            static options => options.Web.ReceiveStall,
            static (options, time) => options with { Web = options.Web with { ReceiveStall = time } }),
        Row.Bytes("receive-rate",
            "Bytes per second that a client must send on average; a slower one is disconnected, after --receive-timeout at "
            + "the earliest. 0: no minimum.", 0, int.MaxValue,
            static options => options.Web.ReceiveBytesPerSecond,
            static (options, number) => options with { Web = options.Web with { ReceiveBytesPerSecond = (int)number } }),
        Row.Seconds("send-timeout", "How long a client may pause while it receives a response.", 1, SecondsMax,
            static options => options.Engine.Limits.WriteStall,
            static (options, time) => options.WithLimits(limits => limits with { WriteStall = time })),
        Row.Bytes("send-rate",
            "Bytes per second that a client must read on average; a slower one is disconnected, after --send-timeout at the "
            + "earliest. 0: no minimum.", 0, int.MaxValue,
            static options => options.Engine.Limits.WriteBytesPerSecond,
            static (options, number) => options.WithLimits(limits => limits with { WriteBytesPerSecond = (int)number })),
        new OptionGroup("limits", OptionChange.AtReload)
            .Seconds("drain", "How long in-flight requests may take to finish when the server stops.", 0, SecondsMax,
                static options => options.Drain,
                static (options, time) => options with { Drain = time }),
    ];
}
