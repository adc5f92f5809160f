using System.Globalization;
using Millrace.Engine;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>The number of reactors and their I/O backend.</summary>
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
            Help = "Number of reactor threads; 0: one per core that this process may use.",
            Default = "0",
            Apply = static (options, text) => options.WithEngine(engine => engine with { Reactors = ParseReactors(text) }),
        },
        ChoiceRow.Of("backend", "engine.backend", OptionChange.AtRestart,
            "I/O backend: io_uring, epoll, or auto, which uses io_uring if a self-test succeeds, else epoll.",
            Backends, "a backend",
            static options => options.Engine.Backend,
            static (options, backend) => options.WithEngine(engine => engine with { Backend = backend })),
    ];

    private static int ParseReactors(string text) =>
        int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int reactors) && reactors <= ReactorsMax
            ? reactors
            : throw new SiteException($"'{text}' is not a valid number of reactors: use 0 (one per core) to {ReactorsMax}.");
}
