using System.CommandLine;
using System.CommandLine.Completions;
using Millrace.Server.Configuration;

namespace Millrace.DocGenerator.CommandLine;

/// <summary>
/// A command as people see it, read off the parser's tree, and off the table where the parser does not say enough. Manual and completions
/// are made of it. Immutable.
/// </summary>
/// <param name="Name">Empty for serving, which needs no word.</param>
/// <param name="Help">What it does.</param>
/// <param name="Flags">Its own, and those that all commands have.</param>
/// <param name="Argument">What it takes besides flags; null for nothing.</param>
/// <param name="Commands">The commands below it.</param>
internal sealed record CommandModel(
    string Name, string Help, IReadOnlyList<FlagModel> Flags, ArgumentModel? Argument, IReadOnlyList<CommandModel> Commands)
{
    /// <summary>It and all below.</summary>
    public IEnumerable<CommandModel> All => Commands.SelectMany(static command => command.All).Prepend(this);

    public static CommandModel Of(Command command)
    {
        IEnumerable<Option> inherited = command.Parents.OfType<Command>().SelectMany(static parent => parent.Options)
            .Where(static option => option.Recursive);
        return new CommandModel(
            command is RootCommand ? "" : command.Name,
            command.Description ?? "",
            [.. command.Options.Concat(inherited).Where(static option => !option.Hidden).Select(FlagModel.Of)],
            command.Arguments.Select(ArgumentModel.Of).SingleOrDefault(),
            [.. command.Subcommands.Where(static below => !below.Hidden).Select(Of)]);
    }

    /// <summary>The flags of all commands, each with the commands that have it, in the order of the first that does.</summary>
    public IEnumerable<(FlagModel Flag, IReadOnlyList<string> Commands)> SharedFlags() =>
        from command in All
        from flag in command.Flags
        group command.Name by flag.Name into shared
        select (All.SelectMany(static command => command.Flags).First(flag => flag.Name == shared.Key), (IReadOnlyList<string>)[.. shared]);
}

/// <summary>What a command takes besides flags.</summary>
/// <param name="Name">As help has it: <c>ROOT</c>.</param>
/// <param name="Help">What it is, in a sentence.</param>
/// <param name="Default">What holds without it; empty for nothing.</param>
/// <param name="IsRequired">Whether the command needs it.</param>
/// <param name="Value">What it can be.</param>
internal sealed record ArgumentModel(string Name, string Help, string Default, bool IsRequired, ValueModel Value)
{
    public static ArgumentModel Of(Argument argument)
    {
        ServerOption? row = OptionTable.All.FirstOrDefault(row => row.Argument == argument.Name);
        return new ArgumentModel(
            argument.Name,
            argument.Description ?? "",
            argument.HasDefaultValue ? argument.GetDefaultValue() as string ?? "" : "",
            argument.Arity.MinimumNumberOfValues > 0 && !argument.HasDefaultValue,
            row is null ? ValueModel.Of(argument.Name, argument) : ValueModel.Of(row));
    }
}

/// <summary>A flag of a command.</summary>
/// <param name="Name">With its dashes: <c>--listen</c>.</param>
/// <param name="ShortNames">Its short forms: <c>-l</c>.</param>
/// <param name="Help">What it does, in a sentence or two.</param>
/// <param name="IsRepeatable">Whether another one adds to it.</param>
/// <param name="Value">What it takes; null for nothing.</param>
/// <param name="Row">Its row in the table, if it has one.</param>
internal sealed record FlagModel(
    string Name, IReadOnlyList<string> ShortNames, string Help, bool IsRepeatable, ValueModel? Value, ServerOption? Row)
{
    public IEnumerable<string> Names => ShortNames.Append(Name);

    public static FlagModel Of(Option option)
    {
        ServerOption? row = OptionTable.All.FirstOrDefault(row => row.Flag == option.Name);
        bool takesNothing = option.Arity.MaximumNumberOfValues == 0 || option.ValueType == typeof(bool);

        // -? is a pattern to shells.
        return new FlagModel(
            option.Name,
            [.. option.Aliases.Where(static alias => alias is ['-', >= 'a' and <= 'z'])],
            row?.Help ?? option.Description ?? "",
            row?.Occurrence == OptionOccurrence.Repeatable,
            row is not null ? ValueModel.Of(row) : takesNothing ? null : ValueModel.Of(option.HelpName ?? "", option),
            row);
    }
}

/// <summary>What a flag or a command takes, as far as a shell can offer it.</summary>
/// <param name="Form">As help shows it: <c>GLOB=VALUE</c>.</param>
/// <param name="Choices">Words that it can be.</param>
/// <param name="Paths">What on this machine it can be.</param>
/// <param name="Place">Where it stands.</param>
internal sealed record ValueModel(string Form, IReadOnlyList<string> Choices, ValuePaths Paths, ValuePlace Place)
{
    private const string FileForm = "FILE";
    private const string FolderForm = "DIR";

    public static ValueModel Of(ServerOption row) => new(
        row.ValueForm,
        [.. row.Choices.Union(WordsOf(row.ValueForm))],
        PathsOf(row),
        row.ValuePlace);

    /// <summary>Of what is not in the table: its form says whether it is a path, and the parser what else.</summary>
    public static ValueModel Of(string form, Symbol symbol) => new(
        form,
        [.. symbol.GetCompletions(CompletionContext.Empty).Select(static item => item.Label)],
        form == FileForm ? ValuePaths.Files : form == FolderForm ? ValuePaths.Folders : ValuePaths.None,
        ValuePlace.Needed);

    private static ValuePaths PathsOf(ServerOption row) => row.Kind switch
    {
        OptionValueKind.File => ValuePaths.Files,
        OptionValueKind.Folder => ValuePaths.Folders,
        OptionValueKind.Rule when row.ValueForm.EndsWith("=FOLDER", StringComparison.Ordinal) => ValuePaths.FoldersBehindName,
        _ when row.PathAt is not null => ValuePaths.Files,
        _ => ValuePaths.None,
    };

    /// <summary>Of <c>CIDR|unix</c>, what is written as it stands.</summary>
    private static IEnumerable<string> WordsOf(string form) =>
        form.Contains('|', StringComparison.Ordinal) ? form.Split('|').Where(static part => !part.Any(char.IsAsciiLetterUpper)) : [];
}

/// <summary>Which paths a value can be.</summary>
internal enum ValuePaths
{
    None,

    Files,

    Folders,

    /// <summary><c>NAME=FOLDER</c>.</summary>
    FoldersBehindName,
}
