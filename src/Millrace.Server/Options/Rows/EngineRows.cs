using System.Globalization;
using System.Numerics;
using Millrace.Engine;
using Millrace.Engine.Listening;
using Millrace.Server.Options.Settings;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>The sizes of the engine, which few servers need to be told. They are per reactor; the reasons stand with the options.</summary>
internal static class EngineRows
{
    private const string Submissions = "submission-entries";
    private const string Completions = "completion-entries";
    private const string Polling = "submission-polling";
    private const string SharedPolling = "shared-submission-polling";
    private const string BusyPolling = "busy-poll";
    private const string PreferBusyPolling = "prefer-busy-poll";

    private static readonly NumberRow Row = new("engine", OptionChange.AtRestart);

    public static IEnumerable<ServerOption> All =>
    [
        Row.Count(Submissions, "Operations of a reactor that can be queued between two calls of the kernel.", 1, 32_768,
            static options => options.Engine.SubmissionEntries,
            static (options, number) => options.WithEngine(engine => engine with { SubmissionEntries = (int)number })),
        Row.Count(Completions, "Completions of a reactor that can wait; no fewer than operations.", 2, 65_536,
            static options => options.Engine.CompletionEntries,
            static (options, number) => options.WithEngine(engine => engine with { CompletionEntries = (int)number })),
        Row.Count("completions-per-turn", "Completions handled before the kernel is called again.", 1, 65_536,
            static options => options.Engine.CompletionsPerTurn,
            static (options, number) => options.WithEngine(engine => engine with { CompletionsPerTurn = (int)number })),
        Row.Count("receive-buffers", "Buffers that all connections of a reactor share for what arrives; a power of two.", 1, 32_768,
            static options => options.Engine.ReceiveBuffers,
            static (options, number) => int.IsPow2((int)number)
                ? options.WithEngine(engine => engine with { ReceiveBuffers = (int)number })
                : throw new SiteException(
                    string.Create(CultureInfo.InvariantCulture, $"{number} is no power of two."), "Write 512, 1024 or 2048, say.")),
        Row.Bytes("receive-buffer-size", "Size of one of these buffers.", 64, 1 << 20,
            static options => options.Engine.ReceiveBufferBytes,
            static (options, number) => options.WithEngine(engine => engine with { ReceiveBufferBytes = (int)number })),
        SwitchRow.Of("one-shot-receive", "engine.one-shot-receive", OptionChange.AtRestart,
            "Ask the kernel for each piece of what arrives, instead of once for all that a connection brings.",
            static options => !options.Engine.MultishotReceive,
            static (options, isOn) => options.WithEngine(engine => engine with { MultishotReceive = !isOn })),
        Row.Bytes("zero-copy-send",
            "Send so many bytes and more from the memory they stand in, without a copy; 0 for none.",
            0, int.MaxValue,
            static options => options.Engine.ZeroCopySendBytes,
            static (options, number) => options.WithEngine(engine => engine with { ZeroCopySendBytes = (int)number })),
        Row.Bytes("registered-buffers",
            "Memory of each reactor that the kernel pins once: files are read into it, and sent from it by --zero-copy-send; 0 for none.",
            0, 1 << 30,
            static options => options.Engine.RegisteredBufferBytes,
            static (options, number) => options.WithEngine(engine => engine with { RegisteredBufferBytes = (int)number })),
        SwitchRow.Of("registered-files", "engine.registered-files", OptionChange.AtRestart,
            "Have each reactor find its sockets in a table of its own, and not in the one that all threads share. Needs Linux 6.13.",
            static options => options.Engine.RegisteredFiles,
            static (options, isOn) => options.WithEngine(engine => engine with { RegisteredFiles = isOn })),
        Row.Count("file-workers", "Kernel threads of a reactor that read what is not in the page cache.", 1, 1_024,
            static options => options.Engine.FileWorkers,
            static (options, number) => options.WithEngine(engine => engine with { FileWorkers = (int)number })),
        Row.Count("backlog", "Connections that the kernel queues before they are accepted, cut to net.core.somaxconn.", 1, int.MaxValue,
            static options => options.Engine.Limits.Backlog,
            static (options, number) => options.WithLimits(limits => limits with { Backlog = (int)number })),
        Row.Count("refusals", "Connections beyond a limit that are answered 503 at one time; those beyond it too are reset.", 0, 65_536,
            static options => options.Engine.Limits.Refusals,
            static (options, number) => options.WithLimits(limits => limits with { Refusals = (int)number })),
        Row.Milliseconds(Polling,
            "How long a kernel thread of each reactor goes on looking for operations when none come, so that they need no system call; "
            + "0 for none. It takes a core while it looks.",
            0, 60_000,
            static options => options.Engine.SubmissionPolling,
            static (options, time) => options.WithEngine(engine => engine with { SubmissionPolling = time })),
        SwitchRow.Of(SharedPolling, "engine.shared-submission-polling", OptionChange.AtRestart,
            "Have all reactors share one such thread.",
            static options => options.Engine.SharedSubmissionPolling,
            static (options, isOn) => options.WithEngine(engine => engine with { SharedSubmissionPolling = isOn })),
        Row.Microseconds(BusyPolling,
            "How long a wait looks at the network device itself before its interrupt is waited for, in microseconds; 0 for not at all. "
            + "It takes a core while it looks, gains nothing over the loopback, and needs Linux 6.9.",
            0, 10_000,
            static options => options.Engine.BusyPolling,
            static (options, time) => options.WithEngine(engine => engine with { BusyPolling = time })),
        SwitchRow.Of(PreferBusyPolling, $"engine.{PreferBusyPolling}", OptionChange.AtRestart,
            "Have the device leave its interrupts off meanwhile. Needs CAP_NET_ADMIN to bind TCP addresses.",
            static options => options.Engine.PreferBusyPolling,
            static (options, isOn) => options.WithEngine(engine => engine with { PreferBusyPolling = isOn })),
        SwitchRow.Of("pin-reactors", "engine.pin-reactors", OptionChange.AtRestart,
            "Keep each reactor on a core of its own, of those that the process may use.",
            static options => options.Engine.PinReactors,
            static (options, isOn) => options.WithEngine(engine => engine with { PinReactors = isOn })),
        new()
        {
            Key = "congestion-control",
            Path = "engine.congestion-control",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = "NAME",
            Help = "What decides how fast TCP connections send, of those in net.ipv4.tcp_available_congestion_control: bbr, say.",
            Default = "what the kernel is set to, and in place of bbr, which paces, reno over the loopback",
            Apply = static (options, text) => options.WithEngine(engine => engine with { CongestionControl = ParseControl(text) }),
        },
        SwitchRow.Of("stall-watch", "engine.stall-watch", OptionChange.AtRestart,
            "Watch for reactors that are held up, log it, and have others take their new connections.",
            static options => options.Engine.WatchForStalls,
            static (options, isOn) => options.WithEngine(engine => engine with { WatchForStalls = isOn })),
    ];

    public static void Check(ServeOptions options, SettingSet settings, ICollection<Complaint> complaints)
    {
        CheckEntries(options.Engine, settings, complaints);
        ServerOption shared = OptionTable.Get(SharedPolling);
        if (options.Engine is { SharedSubmissionPolling: true, SubmissionPolling.Ticks: 0 } && settings.Find(shared)?.Origin is { } origin)
        {
            complaints.Add(new Complaint(
                origin,
                $"{origin.NameOf(shared)} shares what is not there: write {origin.NameOf(OptionTable.Get(Polling))} as well."));
        }

        ServerOption prefers = OptionTable.Get(PreferBusyPolling);
        if (options.Engine is { PreferBusyPolling: true, BusyPolling.Ticks: 0 } && settings.Find(prefers)?.Origin is { } source)
        {
            complaints.Add(new Complaint(
                source,
                $"{source.NameOf(prefers)} prefers what is not done: write {source.NameOf(OptionTable.Get(BusyPolling))} as well."));
        }
    }

    private static string ParseControl(string text) => CongestionControl.IsName(text)
        ? text
        : throw new SiteException($"'{text}' is no congestion control.", CongestionControl.NameForm);

    /// <summary>The kernel rounds operations up and refuses fewer completions.</summary>
    private static void CheckEntries(EngineOptions engine, SettingSet settings, ICollection<Complaint> complaints)
    {
        uint least = BitOperations.RoundUpToPowerOf2((uint)engine.SubmissionEntries);
        ServerOption fewer = OptionTable.Get(Completions);
        ServerOption more = OptionTable.Get(Submissions);
        Origin? origin = settings.Find(fewer)?.Origin ?? settings.Find(more)?.Origin;
        if (engine.CompletionEntries < least && origin is not null)
        {
            complaints.Add(new Complaint(origin, string.Create(
                CultureInfo.InvariantCulture,
                $"{origin.NameOf(fewer)} is less than {origin.NameOf(more)}: write {least} or more.")));
        }
    }

    public static ServeOptions WithEngine(this ServeOptions options, Func<EngineOptions, EngineOptions> change) =>
        options with { Engine = change(options.Engine) };

    public static ServeOptions WithLimits(this ServeOptions options, Func<Limits, Limits> change) =>
        options.WithEngine(engine => engine with { Limits = change(engine.Limits) });
}
