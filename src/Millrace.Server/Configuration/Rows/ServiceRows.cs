using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Privileges that the process drops after its start.</summary>
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
            Help = "Run as this user after addresses are bound and certificates are read. Needs root.",
            Apply = static (options, text) => options with { Service = options.Service with { User = ParseUser(text) } },
        },
        SwitchRow.Of(Filter, Group + Filter, OptionChange.AtRestart,
            "Deny system calls that serving does not need: starting programs, mounting, debugging and others.",
            static options => options.Service.FiltersCalls,
            static (options, isOn) => options with { Service = options.Service with { FiltersCalls = isOn } }),
    ];

    private static string ParseUser(string text) => text.Split(':') is [{ Length: > 0 }] or [{ Length: > 0 }, { Length: > 0 }]
        ? text
        : throw new SiteException($"'{text}' is not a valid user: use NAME or NAME:GROUP.");
}
