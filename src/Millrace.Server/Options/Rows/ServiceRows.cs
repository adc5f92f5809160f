using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Rows;

/// <summary>What the process gives up once it has what it needs.</summary>
internal static class ServiceRows
{
    private const string Group = "service.";
    private const string User = "user";
    private const string Filter = "seccomp";

    public static IEnumerable<ServerOption> All =>
    [
        new()
        {
            Key = User,
            Path = Group + User,
            Change = OptionChange.AtRestart,
            Kind = OptionValueKind.Text,
            ValueForm = "NAME[:GROUP]",
            Help = "Serve as this user, from when addresses are bound and certificates are read. Needs root.",
            Apply = static (options, text) => options with { Service = options.Service with { User = ParseUser(text) } },
        },
        SwitchRow.Of(Filter, Group + Filter, OptionChange.AtRestart,
            "Refuse, while serving, system calls that a server has no use for: programs, processes, mounts, debugging.",
            static options => options.Service.FiltersCalls,
            static (options, isOn) => options with { Service = options.Service with { FiltersCalls = isOn } }),
    ];

    private static string ParseUser(string text) => text.Split(':') is [{ Length: > 0 }] or [{ Length: > 0 }, { Length: > 0 }]
        ? text
        : throw new SiteException($"'{text}' is no user: write NAME or NAME:GROUP.");
}
