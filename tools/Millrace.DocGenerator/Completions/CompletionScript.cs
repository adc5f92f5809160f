using Millrace.DocGenerator.CommandLine;

namespace Millrace.DocGenerator.Completions;

/// <summary>The completions of each shell: text that the shell reads, so that none of it starts the program.</summary>
internal static class CompletionScript
{
    public static OrderedDictionary<string, Func<CommandModel, string>> Shells { get; } = new()
    {
        ["bash"] = BashScript.Of,
        ["zsh"] = ZshScript.Of,
        ["fish"] = FishScript.Of,
    };

    /// <summary>The flags by who has them, so that a script says each once.</summary>
    public static IEnumerable<(IReadOnlyList<string> Commands, IReadOnlyList<FlagModel> Flags)> FlagsByCommands(CommandModel outline) =>
        from shared in outline.SharedFlags()
        group shared by string.Join(' ', shared.Commands) into alike
        select (alike.First().Commands, (IReadOnlyList<FlagModel>)[.. alike.Select(static shared => shared.Flag)]);

    /// <summary>The first sentence, for a list of many.</summary>
    public static string Summary(string help)
    {
        int end = help.IndexOf(". ", StringComparison.Ordinal);
        return (end < 0 ? help : help[..end]).TrimEnd('.');
    }

    /// <summary>As the Bourne shells quote it.</summary>
    public static string Quoted(string text) => $"'{text.Replace("'", @"'\''", StringComparison.Ordinal)}'";

    public static string Quoted(IEnumerable<string> texts) => string.Join(' ', texts.Select(Quoted));

    /// <summary>As a pattern of a case of these shells.</summary>
    public static string Pattern(IEnumerable<string> texts) => string.Join('|', texts.Select(Quoted));
}
