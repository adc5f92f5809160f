using System.CommandLine;

namespace Millrace.Server.Outline;

/// <summary>
/// A command as people see it, read off the parser's tree, and off the table where the parser does not say enough. Manual and completions
/// are made of it. Immutable.
/// </summary>
/// <param name="Name">Empty for serving, which needs no word.</param>
/// <param name="Help">What it does.</param>
/// <param name="Flags">Its own, and those that all commands have.</param>
/// <param name="Argument">What it takes besides flags; null for nothing.</param>
/// <param name="Commands">The commands below it.</param>
internal sealed record CommandOutline(
    string Name, string Help, IReadOnlyList<FlagOutline> Flags, ArgumentOutline? Argument, IReadOnlyList<CommandOutline> Commands)
{
    /// <summary>It and all below.</summary>
    public IEnumerable<CommandOutline> All => Commands.SelectMany(static command => command.All).Prepend(this);

    public static CommandOutline Of(Command command)
    {
        IEnumerable<Option> inherited = command.Parents.OfType<Command>().SelectMany(static parent => parent.Options)
            .Where(static option => option.Recursive);
        return new CommandOutline(
            command is RootCommand ? "" : command.Name,
            command.Description ?? "",
            [.. command.Options.Concat(inherited).Where(static option => !option.Hidden).Select(FlagOutline.Of)],
            command.Arguments.Select(ArgumentOutline.Of).SingleOrDefault(),
            [.. command.Subcommands.Where(static below => !below.Hidden).Select(Of)]);
    }

    /// <summary>The flags of all commands, each with the commands that have it, in the order of the first that does.</summary>
    public IEnumerable<(FlagOutline Flag, IReadOnlyList<string> Commands)> SharedFlags() =>
        from command in All
        from flag in command.Flags
        group command.Name by flag.Name into shared
        select (All.SelectMany(static command => command.Flags).First(flag => flag.Name == shared.Key), (IReadOnlyList<string>)[.. shared]);
}
