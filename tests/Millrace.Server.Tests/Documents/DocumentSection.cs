using System.Text;

namespace Millrace.Server.Tests.Documents;

/// <summary>A section of a document, with the fenced blocks in it that can be run.</summary>
/// <param name="Document">The file's name.</param>
/// <param name="Title">Its heading.</param>
/// <param name="Blocks">Language and text of each block.</param>
internal sealed record DocumentSection(string Document, string Title, IReadOnlyList<(string Language, string Text)> Blocks)
{
    /// <summary>Of servers that a reader may come from.</summary>
    private static readonly string[] Others = ["nginx", "caddy"];

    public bool IsRunnable => Blocks.Any(static block => block.Language is "sh" or "console");

    public string? Other => Blocks.Select(static block => block.Language).FirstOrDefault(Others.Contains);

    public static IEnumerable<DocumentSection> Of(string document, string markdown)
    {
        string title = "";
        var blocks = new List<(string, string)>();
        string? language = null;
        var text = new StringBuilder();
        foreach (string line in markdown.Split('\n'))
        {
            if (language is not null && line == "```")
            {
                blocks.Add((language, text.ToString()));
                language = null;
            }
            else if (language is not null)
            {
                text.Append(line).Append('\n');
            }
            else if (line.StartsWith("```", StringComparison.Ordinal))
            {
                language = line[3..];
                text.Clear();
            }
            else if (line.StartsWith("## ", StringComparison.Ordinal))
            {
                yield return new DocumentSection(document, title, [.. blocks]);
                title = line[3..];
                blocks.Clear();
            }
        }

        yield return new DocumentSection(document, title, [.. blocks]);
    }

    /// <summary>
    /// The section as a script that follows section.sh. Where it begins with another server's snippet, its requests go to that server
    /// first, and then of ours.
    /// </summary>
    public string Script()
    {
        var script = new StringBuilder();
        IEnumerable<string> questions = Blocks.Where(static block => block.Language == "console").Select(static block => Expectations(block.Text));
        foreach ((string language, string snippet) in Blocks.Where(static block => Others.Contains(block.Language)))
        {
            script.Append($"cat >snippet <<'SNIPPET'\n{snippet}SNIPPET\nother {language} snippet\n").AppendJoin("", questions).Append("stop other\n");
        }

        foreach ((string language, string text) in Blocks)
        {
            script.Append(language switch
            {
                "sh" => text,
                "console" => Expectations(text),
                _ => "",
            });
        }

        return script.Append("stop server\n").ToString();
    }

    /// <summary>Lines that begin with a prompt are commands, and those after them their output.</summary>
    private static string Expectations(string text)
    {
        var script = new StringBuilder();
        bool isOpen = false;
        foreach (string line in text.TrimEnd('\n').Split('\n'))
        {
            bool isCommand = line.StartsWith("$ ", StringComparison.Ordinal);
            if (isCommand && isOpen)
            {
                script.Append("SAYS\n");
            }

            script.Append(isCommand ? $"expect {Quoted(line[2..])} <<'SAYS'\n" : line + "\n");
            isOpen = true;
        }

        return script.Append("SAYS\n").ToString();
    }

    private static string Quoted(string text) => $"'{text.Replace("'", "'\\''", StringComparison.Ordinal)}'";
}
