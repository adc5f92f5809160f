using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Rows;

/// <summary>Privileges that the process drops after its start.</summary>
internal static class ServiceRows
{
    private static readonly OptionGroup Group = new("service", OptionChange.AtRestart);

    public static IEnumerable<ServerOption> All =>
    [
        Group.Text("user", OptionValueKind.Text, "NAME[:GROUP]",
            "Run as this user after addresses are bound and certificates are read. Needs root.",
            static (options, text) => text.Split(':') is [{ Length: > 0 }] or [{ Length: > 0 }, { Length: > 0 }]
                ? options with { Service = options.Service with { User = text } }
                : throw new SiteException($"'{text}' is not a valid user: use NAME or NAME:GROUP.")),
        Group.Switch("seccomp",
            "Deny system calls that serving does not need: starting programs, mounting, debugging and others.",
            static options => options.Service.FiltersCalls,
            static (options, isOn) => options with { Service = options.Service with { FiltersCalls = isOn } }),
    ];
}
