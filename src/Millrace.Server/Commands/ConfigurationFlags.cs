using System.CommandLine;
using Millrace.Server.Options;
using Millrace.Server.Options.Settings;

namespace Millrace.Server.Commands;

/// <summary>The flags by which a command is told a configuration: all options, and a file of them.</summary>
internal sealed class ConfigurationFlags
{
    private readonly OptionFlags _options = new();

    private readonly Option<string?> _file = new("--config")
    {
        Description = $"Read options from a JSON file. Flags go before the environment ({VariableForm}), and that before the file.",
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

    /// <summary>What the command line says, with a root from its arguments.</summary>
    public SettingSet Read(ParseResult parsed, params IEnumerable<string> roots) =>
        new(_options.Read(parsed).Concat(roots.Select(static root => OptionFlags.SettingOf(OptionTable.Get("root"), root))));
}
