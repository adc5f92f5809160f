using System.CommandLine;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Configuration.Settings;

/// <summary>
/// The flags of a command, generated from <see cref="OptionTable"/>. Values are checked later, together with those of all sources.
/// </summary>
internal sealed class OptionFlags
{
    private readonly List<(ServerOption Row, Option<string[]> Flag)> _flags =
        [.. OptionTable.All.Where(static row => row.Argument is null).Select(static row => (row, FlagOf(row)))];

    /// <summary>The flags with an optional value.</summary>
    public static IEnumerable<ValuelessFlag> Bare => OptionTable.All
        .Where(static row => row.BareValue is not null)
        .Select(static row => new ValuelessFlag(row.Flag, row.BareValue!, text => IsSurelyValue(row.Kind, text)));

    public IEnumerable<Option> Options => _flags.Select(static flag => flag.Flag);

    /// <summary>The settings of the flags on the command line.</summary>
    public IEnumerable<Setting> Read(ParseResult parsed) =>
        from flag in _flags
        let texts = parsed.GetValue(flag.Flag) ?? []
        where texts.Length > 0
        select SettingOf(flag.Row, texts);

    /// <summary>The setting of one option on the command line.</summary>
    public static Setting SettingOf(ServerOption option, params IEnumerable<string> texts) =>
        new(option, SettingOrigin.Flag, [.. texts.Select(static text => new SettingValue(text, SettingOrigin.Flag))]);

    /// <summary>Whether the optional value of a flag can follow after a space.</summary>
    public static bool MayFollow(OptionValueKind kind) =>
        kind is OptionValueKind.Switch or OptionValueKind.List or OptionValueKind.Address or OptionValueKind.Seconds;

    /// <summary>Whether the argument after a flag with an optional value is that value, not a folder.</summary>
    private static bool IsSurelyValue(OptionValueKind kind, string text) => kind switch
    {
        OptionValueKind.Switch => text is "on" or "off",
        OptionValueKind.List => text == "*" || text.Contains("://", StringComparison.Ordinal),
        OptionValueKind.Address => ListenAddress.TryParse(text, out _),
        OptionValueKind.Seconds => text.Length > 0 && text.All(char.IsAsciiDigit),
        _ => false,
    };

    private static Option<string[]> FlagOf(ServerOption row) => new(row.Flag, row.ShortFlag is null ? [] : [row.ShortFlag])
    {
        Description = DescriptionOf(row),
        HelpName = row.ValueForm,
        Arity = row.Occurrence == OptionOccurrence.Repeatable ? ArgumentArity.OneOrMore : ArgumentArity.ExactlyOne,
        AllowMultipleArgumentsPerToken = false,

        // A single value is a list of one.
        CustomParser = static result => [.. result.Tokens.Select(static token => token.Value)],
    };

    private static string DescriptionOf(ServerOption row)
    {
        string help = row.Help;
        help += row.BareValue is not string bare || row.Kind == OptionValueKind.Switch || row.BareNote == BareNote.InHelp ? ""
            : $" {row.Flag} alone means {row.Flag}={bare}; write another value after '='.";
        help += row.Occurrence == OptionOccurrence.Repeatable ? " May be repeated." : "";
        return help + (row.Default.Length == 0 ? "" : $" [default: {row.Default}]");
    }
}
