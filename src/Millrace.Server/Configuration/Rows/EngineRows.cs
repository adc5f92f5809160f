using System.Globalization;
using System.Numerics;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Server.Configuration.Settings;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Sizes of the engine per reactor, which few servers need to change. The engine's options document the reasons.</summary>
internal static class EngineRows
{
    private const string Submissions = "submission-entries";
    private const string Completions = "completion-entries";
    private const string Polling = "submission-polling";
    private const string SharedPolling = "shared-submission-polling";

    private static readonly NumberRow Row = new("engine", OptionChange.AtRestart);

    public static IEnumerable<ServerOption> All =>
    [
        Row.Count(Submissions, "Operations per reactor that can be queued between two system calls.", 1, 32_768,
            static options => options.Engine.SubmissionEntries,
            static (options, number) => options.WithEngine(engine => engine with { SubmissionEntries = (int)number })),
        Row.Count(Completions, "Completions per reactor that can be queued; at least the number of submission entries.", 2, 65_536,
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
        Row.Count("refusals", "Connections above a limit that get a 503 response at the same time; further ones are reset.", 0, 65_536,
            static options => options.Engine.Limits.Refusals,
            static (options, number) => options.WithLimits(limits => limits with { Refusals = (int)number })),
        Row.Milliseconds(Polling,
            "How long a kernel thread per reactor polls for new operations when idle, which saves system calls; "
            + "0: no polling. Polling occupies a core.",
            0, 60_000,
            static options => options.Engine.SubmissionPolling,
            static (options, time) => options.WithEngine(engine => engine with { SubmissionPolling = time })),
        SwitchRow.Of(SharedPolling, "engine.shared-submission-polling", OptionChange.AtRestart,
            "Use one polling thread for all reactors.",
            static options => options.Engine.SharedSubmissionPolling,
            static (options, isOn) => options.WithEngine(engine => engine with { SharedSubmissionPolling = isOn })),
        SwitchRow.Of("pin-reactors", "engine.pin-reactors", OptionChange.AtRestart,
            "Pin each reactor to a core of its own, among those that the process may use.",
            static options => options.Engine.PinReactors,
            static (options, isOn) => options.WithEngine(engine => engine with { PinReactors = isOn })),
        new()
        {
            Key = "congestion-control",
            Path = "engine.congestion-control",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = "NAME",
            Help = "TCP congestion control algorithm, such as bbr; one of net.ipv4.tcp_available_congestion_control.",
            Default = "the kernel's setting",
            Apply = static (options, text) => options.WithEngine(engine => engine with { CongestionControl = ParseControl(text) }),
        },
        SwitchRow.Of("stall-watch", "engine.stall-watch", OptionChange.AtRestart,
            "Detect blocked reactors, log them, and send their new connections to other reactors.",
            static options => options.Engine.WatchForStalls,
            static (options, isOn) => options.WithEngine(engine => engine with { WatchForStalls = isOn })),
    ];

    public static void Check(ServeOptions options, SettingSet settings, ICollection<OptionError> errors)
    {
        CheckEntries(options.Engine, settings, errors);
        ServerOption shared = OptionTable.Get(SharedPolling);
        if (options.Engine is { SharedSubmissionPolling: true, SubmissionPolling.Ticks: 0 } && settings.Find(shared)?.Origin is { } origin)
        {
            errors.Add(new OptionError(
                origin,
                $"{origin.NameOf(shared)} has no effect without {origin.NameOf(OptionTable.Get(Polling))}: set that as well."));
        }
    }

    private static string ParseControl(string text) => CongestionControl.IsName(text)
        ? text
        : throw new SiteException($"'{text}' is not a congestion control algorithm.", CongestionControl.NameForm);

    /// <summary>The kernel rounds submission entries up to a power of two and refuses fewer completion entries.</summary>
    private static void CheckEntries(EngineOptions engine, SettingSet settings, ICollection<OptionError> errors)
    {
        uint least = BitOperations.RoundUpToPowerOf2((uint)engine.SubmissionEntries);
        ServerOption fewer = OptionTable.Get(Completions);
        ServerOption more = OptionTable.Get(Submissions);
        SettingOrigin? origin = settings.Find(fewer)?.Origin ?? settings.Find(more)?.Origin;
        if (engine.CompletionEntries < least && origin is not null)
        {
            errors.Add(new OptionError(origin, string.Create(
                CultureInfo.InvariantCulture,
                $"{origin.NameOf(fewer)} is less than {origin.NameOf(more)}: use at least {least}.")));
        }
    }

    public static ServeOptions WithEngine(this ServeOptions options, Func<EngineOptions, EngineOptions> change) =>
        options with { Engine = change(options.Engine) };

    public static ServeOptions WithLimits(this ServeOptions options, Func<Limits, Limits> change) =>
        options.WithEngine(engine => engine with { Limits = change(engine.Limits) });
}
