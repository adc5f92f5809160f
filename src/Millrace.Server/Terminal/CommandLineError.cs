using System.CommandLine;
using System.CommandLine.Parsing;
using Millrace.Server.Configuration;

namespace Millrace.Server.Terminal;

/// <summary>
/// Says what is wrong with a command line and what to write instead. The parser takes a mistyped flag for the folder, and reports the word
/// after it: here the flag is named. Pure, but for the question whether a folder exists.
/// </summary>
internal static class CommandLineError
{
    /// <summary>Flags of other servers.</summary>
    private static readonly Dictionary<string, string> Foreign = new(StringComparer.Ordinal)
    {
        ["address"] = "--listen",
        ["addr"] = "--listen",
        ["bind"] = "--listen",
        ["tls"] = "--https",
        ["ssl"] = "--https",
        ["tlscert"] = "--cert",
        ["sslcert"] = "--cert",
        ["certificate"] = "--cert",
        ["tlskey"] = "--key",
        ["sslkey"] = "--key",
        ["gzip"] = "--compress",
        ["threads"] = "--reactors",
        ["workers"] = "--reactors",
        ["browse"] = "--listing",
        ["autoindex"] = "--listing",
        ["single"] = "--spa",
    };

    private const int FoldersLookedAtMax = 1000;

    private static readonly string[] FolderFlags = ["root", "dir", "directory", "folder", "d"];

    /// <summary>The errors in words for people: all flags that do not exist, or else the first other error. May be empty.</summary>
    public static IReadOnlyList<string> Describe(ParseResult parsed, string[] arguments)
    {
        Command command = parsed.CommandResult.Command;
        IEnumerable<string> before = arguments.TakeWhile(static argument => argument != "--");
        string[] words =
        [
            .. parsed.CommandResult.Children.OfType<ArgumentResult>().SelectMany(static argument => argument.Tokens)
                .Select(static token => token.Value),
            .. parsed.UnmatchedTokens,
        ];
        string[] unknown =
        [
            .. before.Select(argument => DescribeOneDash(argument, command)
                ?? (argument is ['-', _, ..] && words.Contains(argument) ? DescribeUnknown(argument, command) : null)).OfType<string>()
                .Distinct(),
        ];
        return unknown.Length > 0 ? unknown : DescribeOther(parsed, command, words, arguments) is { } other ? [other] : [];
    }

    private static string? DescribeOther(ParseResult parsed, Command command, string[] words, string[] arguments) =>
            words.Select(word => DescribeValue(word, arguments)).FirstOrDefault(static error => error is not null)
            ?? DescribeCommand(words.FirstOrDefault(), command)
            ?? (parsed.UnmatchedTokens.Contains("") ? "One argument is empty: check the variables of the shell on this line." : null)
            ?? (parsed.UnmatchedTokens is [var extra, ..] ? DescribeExtra(extra, command) : null)
            ?? parsed.Errors.Select(error => Describe(error, command)).FirstOrDefault();

    private static string DescribeExtra(string extra, Command command) =>
        command.Arguments.Count == 0 ? $"Unexpected argument '{extra}': '{UsageOf(command)}' takes none."
        : command.Options.Any(static option => option.Name == "--host") && Directory.Exists(extra)
            ? $"Unexpected second folder '{extra}'. Serve it for a host of its own: --host example.org={extra}."
        : $"Unexpected argument '{extra}'. Quote paths that contain spaces; {HelpHint(command)}";

    /// <summary>-port 80, which the parser takes for -p with the value 'ort'.</summary>
    private static string? DescribeOneDash(string argument, Command command)
    {
        string name = NameOf(argument);
        return name is ['-', not '-', _, ..] && command.Options.Any(option => option.Name == $"-{name}")
            ? $"'{name}' needs two dashes: write -{argument}."
            : null;
    }

    private static string DescribeUnknown(string argument, Command command)
    {
        string name = NameOf(argument);
        string plain = string.Concat(name.Where(char.IsAsciiLetterOrDigit)).ToLowerInvariant();
        bool takesFolder = command.Arguments.Count > 0;
        string hint = takesFolder && FolderFlags.Contains(plain) ? $"Write the folder without a flag: {UsageOf(command)} DIR."
            : NearestFlag(name, plain, [.. command.Options.Select(static option => option.Name)]) is { } near ? $"Did you mean '{near}'?"
            : File.Exists(argument) || Directory.Exists(argument) ? $"For the path of this name write './{argument}'."
            : char.ToUpperInvariant(HelpHint(command)[0]) + HelpHint(command)[1..];
        return $"'{name}' is not an option. {hint}";
    }

    /// <summary>One letter is near to every other.</summary>
    private static string? NearestFlag(string name, string plain, string[] flags) =>
        Foreign.TryGetValue(plain, out string? ours) && flags.Contains(ours) ? ours
        : plain.Length > 1 ? SpellingSuggestion.Nearest(name, flags)
        : null;

    /// <summary>The value of a flag that needs '=', which the parser takes for the folder.</summary>
    private static string? DescribeValue(string word, string[] arguments)
    {
        int at = Array.IndexOf(arguments, word);
        string flag = at > 0 ? arguments[at - 1] : "";
        return word.Length == 0 || Path.Exists(word) ? null
            : OptionTable.All.FirstOrDefault(row => row.BareValue is not null && row.Flag == flag) is not { } row ? null
            : row.Accepts(word) ? $"There is no folder '{word}'. If it is the value of {flag}, write {flag}={word}."
            : row.Kind == OptionValueKind.Switch ? $"There is no folder '{word}', and {flag} takes on or off."
            : $"There is no folder '{word}', and it is not a value of {flag}: write {FormOf(row)}.";
    }

    private static string FormOf(ServerOption row) => $"{row.Flag}={row.ValueForm}";

    private static string? DescribeCommand(string? word, Command command) =>
        command is not RootCommand || word is null or "" || Path.Exists(word) ? null
        : SpellingSuggestion.Nearest(word, command.Subcommands.Select(static below => below.Name)) is { } near
            ? $"'{word}' is neither a folder nor a command. Did you mean 'millrace {near}'?"
        : NearestFolder(word) is { } folder ? $"There is no folder '{word}'. Did you mean '{folder}'?"
        : null;

    /// <summary>The folder beside it whose name is similar, as it would be written; null if there is none.</summary>
    private static string? NearestFolder(string word)
    {
        string above = Path.GetDirectoryName(word) ?? "";
        try
        {
            IEnumerable<string> names = Directory.EnumerateDirectories(above.Length == 0 ? "." : above).Take(FoldersLookedAtMax)
                .Select(static folder => Path.GetFileName(folder));
            return SpellingSuggestion.Nearest(Path.GetFileName(word), names) is { } near ? Path.Combine(above, near) : null;
        }
        catch (Exception refusal) when (refusal is IOException or UnauthorizedAccessException or ArgumentException)
        {
            return null;
        }
    }

    private static string Describe(ParseError error, Command command) => error.SymbolResult switch
    {
        OptionResult { Tokens.Count: 0, Option: var option } =>
            $"{option.Name} needs a value: write {QuotedUsageOf(option)}.",
        OptionResult { IdentifierTokenCount: > 1, Option: { Arity.MaximumNumberOfValues: 1 } option } =>
            $"{option.Name} is given twice: write it once.",
        ArgumentResult { Tokens.Count: 0, Argument: var missing } => DescribeMissing(missing, command),
        CommandResult when command.Arguments.FirstOrDefault() is { } missing => DescribeMissing(missing, command),
        _ => error.Message,
    };

    /// <summary>The value in quotes if a shell would divide or expand it, or if the sentence's end would look like a part of it.</summary>
    private static string QuotedUsageOf(Option option)
    {
        string usage = HelpPage.UsageOf(option);
        string value = usage[option.Name.Length..].TrimStart();
        return value.AsSpan().IndexOfAny(" [.") < 0 ? usage : $"{option.Name} '{value}'";
    }

    private static string DescribeMissing(Argument missing, Command command)
    {
        string what = missing.Description ?? "";
        return $"'{UsageOf(command)}' needs {missing.Name}: {char.ToLowerInvariant(what[0])}{what[1..]}";
    }

    private static string NameOf(string argument) => argument.Split('=')[0];

    private static string UsageOf(Command command) => command is RootCommand ? "millrace" : $"millrace {command.Name}";

    private static string HelpHint(Command command) =>
        command is RootCommand ? "'millrace --help-all' lists all options." : $"'{UsageOf(command)} --help' shows what it takes.";
}
