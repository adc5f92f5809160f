using System.Globalization;
using Millrace.Engine;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>How many reactors there are, and how they ask the kernel.</summary>
internal static class BackendRows
{
    private const int ReactorsMax = 1024;

    private static readonly OrderedDictionary<string, BackendKind> Backends = new()
    {
        ["auto"] = BackendKind.Auto,
        ["io_uring"] = BackendKind.IoUring,
        ["epoll"] = BackendKind.Epoll,
    };

    public static IEnumerable<ServerOption> All =>
    [
        new()
        {
            Key = "reactors",
            Path = "engine.reactors",
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Count,
            ValueForm = "N",
            Range = (0, ReactorsMax),
            Help = "Reactor threads; 0 is one for each core this process may use.",
            Default = "0",
            Apply = static (options, text) => options.WithEngine(engine => engine with { Reactors = ParseReactors(text) }),
        },
        ChoiceRow.Of("backend", "engine.backend", OptionChange.AtRestart,
            "How the kernel is asked; auto is io_uring where a trial of it succeeds, else epoll.",
            Backends, "not a backend",
            static options => options.Engine.Backend,
            static (options, backend) => options.WithEngine(engine => engine with { Backend = backend })),
    ];

    private static int ParseReactors(string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int reactors) && reactors <= ReactorsMax
            ? reactors
            : throw new SiteException($"'{text}' is not a number of reactors: write 0 (one for each core) to {ReactorsMax}.");
}
