using System.CommandLine;
using Millrace.Server.Configuration;
using Millrace.Server.Configuration.Settings;

namespace Millrace.Server.Commands;

/// <summary>The flags of a command that takes a configuration: all options, and the file.</summary>
internal sealed class ConfigurationFlags
{
    private readonly OptionFlags _options = new();

    private readonly Option<string?> _file = new("--config")
    {
        Description = $"Read options from a JSON file. Flags override environment variables ({VariableForm}), which override the file.",
        HelpName = "FILE",
    };

    private static string VariableForm => $"{ServerOption.VariableOf("option")}=VALUE";

    public void AddTo(Command command)
    {
        command.Options.Add(_file);
        foreach (Option flag in _options.Options)
        {
            command.Options.Add(flag);
        }
    }

    public string? FileOf(ParseResult parsed) => parsed.GetValue(_file);

    /// <summary>The settings of the command line, with the roots of its arguments.</summary>
    public SettingSet Read(ParseResult parsed, params IEnumerable<string> roots) =>
        new(_options.Read(parsed).Concat(roots.Select(static root => OptionFlags.SettingOf(OptionTable.Get("root"), root))));
}
