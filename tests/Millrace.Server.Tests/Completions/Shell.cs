using System.Text;
using Millrace.DocGenerator;
using Millrace.DocGenerator.CommandLine;
using Millrace.DocGenerator.Completions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Completions;

/// <summary>A shell with the completions, in a folder of its own.</summary>
internal abstract class Shell : IDisposable
{
    public static CommandModel Outline { get; } = GeneratedFile.CommandLine;

    /// <summary>What is in the folder, besides what a shell keeps in names with a dot.</summary>
    public static string[] Files { get; } = ["a.pem", "b c.json", "it's [x]:y.pem", "access.log"];

    public static string[] Folders { get; } = ["site", "my dir"];

    protected Shell()
    {
        Array.ForEach(Files, name => Folder.WriteText(name, ""));
        Array.ForEach(Folders, name => Directory.CreateDirectory(Folder.PathOf(name)));
    }

    public TempFolder Folder { get; } = new();

    /// <summary>What is offered for the last word of each line, as it would be read: without quotes, and of <c>--flag=value</c> the value.</summary>
    public async Task<string[][]> OffersAsync(params IReadOnlyList<string> lines)
    {
        string[][] offers = await AskAsync(lines);
        return [.. offers.Select((words, index) => words.Select(word => Plain(lines[index], word)).Distinct().ToArray())];
    }

    public void Dispose()
    {
        Folder.Dispose();
        GC.SuppressFinalize(this);
    }

    protected static string Script(string shell) => CompletionScript.Shells[shell](Outline);

    protected abstract Task<string[][]> AskAsync(IReadOnlyList<string> lines);

    /// <summary>What a line has become where all that is offered was put into it, as words; none where it has not changed.</summary>
    protected static string[] Inserted(string line, string inserted)
    {
        if (inserted == line)
        {
            return [];
        }

        var words = new List<string>();
        var word = new StringBuilder();
        string rest = inserted[(line.LastIndexOf(' ') + 1)..].TrimEnd(' ');
        for (int i = 0; i < rest.Length; i++)
        {
            if (rest[i] == '\\')
            {
                i++;
                word.Append(rest[i]);
            }
            else if (rest[i] == ' ')
            {
                words.Add(word.ToString());
                word.Clear();
            }
            else
            {
                word.Append(rest[i]);
            }
        }

        // zsh puts what it would show in columns into columns.
        return [.. words.Append(word.ToString()).Where(static word => word.Length > 0)];
    }

    private static string Plain(string line, string word)
    {
        bool hasName = line[(line.LastIndexOf(' ') + 1)..].Contains('=', StringComparison.Ordinal);
        string value = hasName ? word[(word.LastIndexOf('=') + 1)..] : word;
        return value.Length > 1 ? value.TrimEnd('/', '=', '\'', '"') : value;
    }
}
