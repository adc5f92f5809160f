using System.CommandLine;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Settings;

/// <summary>
/// The flags of a command, made from <see cref="OptionTable"/>. What their texts mean is judged with those of all sources.
/// </summary>
internal sealed class OptionFlags
{
    private readonly List<(ServerOption Row, Option<string[]> Flag)> _flags =
        [.. OptionTable.All.Where(static row => row.Argument is null).Select(static row => (row, FlagOf(row)))];

    /// <summary>Those that may stand alone.</summary>
    public static IEnumerable<BareFlag> Bare => OptionTable.All
        .Where(static row => row.BareValue is not null)
        .Select(static row => new BareFlag(row.Flag, row.BareValue!, text => IsSurelyValue(row.Kind, text)));

    public IEnumerable<Option> Options => _flags.Select(static flag => flag.Flag);

    /// <summary>What the command line says by flags.</summary>
    public IEnumerable<Setting> Read(ParseResult parsed) =>
        from flag in _flags
        let texts = parsed.GetValue(flag.Flag) ?? []
        where texts.Length > 0
        select SettingOf(flag.Row, texts);

    /// <summary>What the command line says of an option.</summary>
    public static Setting SettingOf(ServerOption option, params IEnumerable<string> texts) =>
        new(option, Origin.Flag, [.. texts.Select(static text => new SettingValue(text, Origin.Flag))]);

    /// <summary>Whether a flag that may stand alone can have its value behind a space.</summary>
    public static bool MayFollow(OptionValueKind kind) =>
        kind is OptionValueKind.Switch or OptionValueKind.List or OptionValueKind.Address or OptionValueKind.Seconds;

    /// <summary>Whether what follows a flag that may stand alone is its value and no folder.</summary>
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

        // One value is a list of one too.
        CustomParser = static result => [.. result.Tokens.Select(static token => token.Value)],
    };

    private static string DescriptionOf(ServerOption row)
    {
        string help = row.Help;
        help += row.BareValue is not string bare || row.Kind == OptionValueKind.Switch || row.BareNote == BareNote.InHelp ? ""
            : $" {row.Flag} alone is {row.Flag}={bare}; another value stands behind '='.";
        help += row.Occurrence == OptionOccurrence.Repeatable ? " May be repeated." : "";
        return help + (row.Default.Length == 0 ? "" : $" [default: {row.Default}]");
    }
}
