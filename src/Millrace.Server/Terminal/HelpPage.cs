using System.CommandLine;
using System.CommandLine.Completions;
using System.Text;
using Millrace.Server.Configuration;

namespace Millrace.Server.Terminal;

/// <summary>
/// The help of the program and its commands: a short page with the options that most people need, and a full one with all of them by
/// section. No line is longer than <see cref="ColumnsMax"/>.
/// </summary>
internal static class HelpPage
{
    private const int ColumnsMax = 100;
    private const int ColumnsMin = 72;
    private const int LeftColumns = 30;

    private const string Examples =
        """
        Examples:
          millrace                                this folder, on http://127.0.0.1:8080/
          millrace ./public -p 3000               another folder and port
          millrace ./public --listen 80           for other machines too
          millrace ./dist --spa                   a single-page application
          millrace . --https --acme you@example.org --domain example.org
          millrace . --https 443 --cert a.pem --key a.key
          millrace --config millrace.json         'millrace init' writes such a file

        """;

    private static readonly (string Title, string[] Flags)[] ShortGroups =
    [
        ("Addresses", ["--listen", "--port", "--https", "--acme", "--domain", "--cert", "--key"]),
        ("Site", ["--spa", "--clean-urls", "--listing", "--cors", "--header", "--auth", "--host", "--proxy"]),
        ("Operation", ["--config", "--access-log", "--admin", "--user"]),
    ];

    public static Option<bool> ShortFlag { get; } = new("--help", "-h", "-?")
    {
        Description = "Show the most common options, or the options of one command.",
        Arity = ArgumentArity.Zero,
        Recursive = true,
    };

    public static Option<bool> FullFlag { get; } = new("--help-all") { Description = "Show all options.", Arity = ArgumentArity.Zero };

    public static Option<bool> VersionFlag { get; } = new("--version") { Description = "Print the version.", Arity = ArgumentArity.Zero };

    /// <summary><c>millrace help [COMMAND]</c>.</summary>
    public static Command CreateCommand(RootCommand root)
    {
        var name = new Argument<string?>("COMMAND") { Description = "The command to explain.", Arity = ArgumentArity.ZeroOrOne };
        name.CompletionSources.Add(_ => root.Subcommands.Select(static command => new CompletionItem(command.Name)));
        var help = new Command("help", "Shows the most common options, or the options of one command.") { name };
        help.SetAction(parsed =>
        {
            string? wanted = parsed.GetValue(name);
            Command? found = wanted is null ? root : root.Subcommands.FirstOrDefault(command => command.Name == wanted);
            return found is not null
                ? Print(found, isFull: false)
                : ErrorLine.Print(
                    $"'{wanted}' is not a command: use {OptionText.AnyOf(root.Subcommands.Select(static command => command.Name))}.",
                    ExitCode.Usage);
        });
        return help;
    }

    public static int Print(Command command, bool isFull)
    {
        int columns = Console.IsOutputRedirected ? ColumnsMax : Math.Clamp(TerminalFacts.Columns - 1, ColumnsMin, ColumnsMax);
        Console.Write(Text(command, isFull, columns));
        return ExitCode.Done;
    }

    public static string Text(Command command, bool isFull, int columns)
    {
        var page = new StringBuilder();
        AppendWrapped(page, command.Description ?? "", "", columns);
        string name = command is RootCommand ? "millrace" : $"millrace {command.Name}";
        IEnumerable<string> arguments = command.Arguments.Select(static argument =>
            argument.Arity.MinimumNumberOfValues > 0 && !argument.HasDefaultValue ? argument.Name : $"[{argument.Name}]");
        IEnumerable<string> options = command.Options.Count > 0 ? ["[OPTION]..."] : [];
        page.Append($"\n\nUsage:\n  {string.Join(' ', [name, .. arguments, .. options])}\n");
        if (command is not RootCommand root)
        {
            WriteCommand(page, command, columns);
            return page.ToString();
        }

        page.Append("  millrace COMMAND [--help]\n\n").Append(Examples);
        foreach ((string title, IEnumerable<Option> ofSection) in isFull ? FullSections(root) : ShortSections(root))
        {
            WriteEntries(
                page, title, ofSection.Select(option => (NamesOf(option), isFull ? FullHelpOf(option) : ShortHelpOf(option))), columns);
        }

        page.Append(isFull ? "\nBYTES may have a suffix k, m, g or t, for powers of 1,024.\n" : "");
        WriteEntries(
            page,
            "Commands",
            root.Subcommands.Select(below => (below.Name, isFull ? below.Description ?? "" : FirstSentence(below.Description ?? ""))),
            columns);
        return page.ToString();
    }

    /// <summary>The flag with its value, as it is written.</summary>
    public static string UsageOf(Option option)
    {
        ServerOption? row = RowOf(option);
        string form = row?.ValueForm ?? option.HelpName ?? "";
        return option.Name + (form.Length == 0 ? "" : row?.ValuePlace switch
        {
            ValuePlace.Attached => $"[={form}]",
            ValuePlace.MayFollow => $" [{form}]",
            _ => $" {form}",
        });
    }

    private static IEnumerable<(string Title, IEnumerable<Option> Options)> ShortSections(RootCommand root) =>
        ShortGroups.Select(group => (group.Title, group.Flags.Select(name => root.Options.Single(option => option.Name == name))))
            .Append(("Help", [ShortFlag, FullFlag, VersionFlag]));

    private static IEnumerable<(string Title, IEnumerable<Option> Options)> FullSections(RootCommand root) =>
        OptionSection.All.Select(section => (section.Title, section.Options
            .Select(row => root.Options.FirstOrDefault(option => RowOf(option) == row)).OfType<Option>()))
            .Prepend(("Command line", root.Options.Where(static option => RowOf(option) is null)));

    private static void WriteCommand(StringBuilder page, Command command, int columns)
    {
        WriteEntries(page, "Arguments", command.Arguments.Select(static argument => (argument.Name, HelpOf(argument))), columns);
        WriteEntries(
            page,
            "Options",
            command.Options.Where(static option => RowOf(option) is null).Select(static option => (NamesOf(option), FullHelpOf(option)))
                .Append((NamesOf(ShortFlag), "Show this help.")),
            columns);
        if (command.Options.Any(static option => RowOf(option) is not null))
        {
            page.Append("\nAll options of the server apply too: 'millrace --help-all' lists them.\n");
        }
    }

    private static void WriteEntries(StringBuilder page, string title, IEnumerable<(string Left, string Text)> entries, int columns)
    {
        (string Left, string Text)[] all = [.. entries];
        page.Append(all.Length == 0 ? "" : $"\n{title}:\n");
        foreach ((string left, string text) in all)
        {
            string name = $"  {left}";
            page.Append(name.Length < LeftColumns ? name.PadRight(LeftColumns) : $"{name}\n{new string(' ', LeftColumns)}");
            AppendWrapped(page, text, new string(' ', LeftColumns), columns);
            page.Append('\n');
        }
    }

    /// <summary>Appends a text whose first line is already indented.</summary>
    private static void AppendWrapped(StringBuilder page, string text, string indent, int columns)
    {
        int column = indent.Length;
        string separator = "";
        foreach (string word in text.Split(' '))
        {
            if (column + separator.Length + word.Length > columns)
            {
                page.Append('\n').Append(indent);
                (column, separator) = (indent.Length, "");
            }

            page.Append(separator).Append(word);
            column += separator.Length + word.Length;
            separator = " ";
        }
    }

    private static string NamesOf(Option option) =>
        string.Concat(option.Aliases.Where(static alias => alias is ['-', not '-' and not '?']).Select(static alias => $"{alias}, "))
            + UsageOf(option);

    private static string HelpOf(Argument argument) =>
        (argument.Description ?? "") + (argument.HasDefaultValue ? DefaultNote($"{argument.GetDefaultValue()}") : "");

    private static string ShortHelpOf(Option option) => RowOf(option) is { } row
        ? FirstSentence(row.Help) + (row.Default == "off" ? "" : DefaultNote(row.Default))
        : FirstSentence(option.Description ?? "");

    private static string DefaultNote(string text) => text.Length == 0 ? "" : $" [default: {text}]";

    private static string FirstSentence(string help)
    {
        int end = help.IndexOf(". ", StringComparison.Ordinal);
        return end < 0 ? help : help[..(end + 1)];
    }

    private static string FullHelpOf(Option option)
    {
        if (RowOf(option) is not { } row)
        {
            return option.Description ?? "";
        }

        return row.Help
            + (row.BareValue is not { } bare || row.Kind == OptionValueKind.Switch || row.ExplainsBareValue ? ""
                : $" {row.Flag} alone means {row.Flag}={bare}.")
            + (row.Occurrence == OptionOccurrence.Repeatable ? " May be repeated." : "")
            + DefaultNote(row.Default);
    }

    private static ServerOption? RowOf(Option option) => OptionTable.All.FirstOrDefault(row => row.Flag == option.Name);
}
