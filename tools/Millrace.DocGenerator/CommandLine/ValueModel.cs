using System.CommandLine;
using System.CommandLine.Completions;
using Millrace.Server.Configuration;
using Millrace.StaticFiles.Options;

namespace Millrace.DocGenerator.CommandLine;

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
        row.BareValue is null ? ValuePlace.Needed : OptionFlags.MayFollow(row.Kind) ? ValuePlace.BehindOrAttached : ValuePlace.Attached);

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
        OptionValueKind.Rule when row.ValueForm.EndsWith("=ROOT", StringComparison.Ordinal) => ValuePaths.FoldersBehindName,
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

/// <summary>Where the value of a flag stands.</summary>
internal enum ValuePlace
{
    /// <summary>Behind a space or '=': the flag does not stand alone.</summary>
    Needed,

    /// <summary>The same, but the flag may stand alone.</summary>
    BehindOrAttached,

    /// <summary>Behind '=' only: what follows a space is another word.</summary>
    Attached,
}
