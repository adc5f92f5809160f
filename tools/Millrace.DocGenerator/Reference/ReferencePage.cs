using System.Text;
using Millrace.Server.Configuration;

namespace Millrace.DocGenerator.Reference;

/// <summary>Generates docs/configuration.md from the table.</summary>
internal static class ReferencePage
{
    private const string Introduction =
        """
        # Configuration

        You can set every option of the server by a flag, by an environment variable, or in a JSON file. This page is generated from the
        table with which the server reads its options; [serving.md](serving.md) explains what they do.

        ```
        millrace init                        # writes millrace.json, a commented starter file
        millrace check millrace.json         # prints what would be served, or what is wrong
        millrace --config millrace.json      # serves it
        kill -HUP "$(pidof millrace)"        # reloads it
        ```

        ## Precedence

        1. **Flags.** `--keep-alive-timeout 30`.
        2. **Environment variables.** `MILLRACE_KEEP_ALIVE_TIMEOUT=30`. For a repeatable flag, each line of the value is one occurrence.
           A flag with an optional value needs a value here. An empty variable is ignored. `MILLRACE_CONFIG` names the file, as `--config`.
        3. **The file.** `{ "limits": { "keep-alive-timeout": 30 } }`. It is read only if it is named.

        A value of an option replaces all values of that option from the sources below it: one `--listen` replaces all addresses in the
        file. `[]`, and `false` for a flag with an optional value, mean the default. In the file, a host's own options override those of all
        sites; flags and environment variables override both.

        ## The file

        The file is JSON in UTF-8; comments and trailing commas are allowed. Relative paths are resolved against the file's own folder.
        Misspelt and duplicate keys, wrong types and invalid values are reported with line and column, all at once, and nothing is served:

        ```
        $ millrace check millrace.json
        millrace: millrace.json:4:3: 'chache-control' is not an option. Did you mean 'cache-control'?
        ```

        `millrace check [FILE]` takes the same flags, environment variables and file as the server. It opens certificates and folders,
        checks the paths of logs and unix sockets, and prints what would be served. It binds no address and writes nothing. With `--user`
        it reads folders as that user, and reports certificates, keys and logs that the user cannot open again, so that a reload would fail.
        The exit status is 0 if everything is fine, and 2 on errors.

        `millrace schema` prints the file's [JSON Schema](millrace.schema.json); with `"$schema": "./millrace.schema.json"` in the file,
        editors complete and check it as you type.

        ## Reload

        On SIGHUP the server reads the file, the folders and the certificates again. It opens new sites, certificates and addresses first,
        and applies the configuration only if all of that succeeds; otherwise it keeps the current configuration and logs the reason.

        - Open connections stay open, and their next request gets the new content.
        - Removing an address closes its listener; existing connections continue.
        - Unchanged sites and certificates stay open, and their files are checked for changes.
        - An address that moves between HTTP and HTTPS keeps its socket: new connections use the new protocol, existing ones keep theirs.
        - An address that widens to all interfaces of its port, or narrows from them (8080 and 127.0.0.1:8080), is opened next to the
          previous one; with `service.user` this needs a restart, as the existing sockets belong to another user.
        - Signals that arrive while another one waits for a reload to end are merged with it.

        These options need a restart; a reload that finds one of them changed logs its name:

        RESTART

        All other options take effect immediately.

        Virtual hosts are an object, by name. Each has a folder, and optionally its own options of the section [Sites](#sites):

        ```json
        {
          "root": "./public",
          "cache-control": { "*.css": "max-age=3600" },
          "hosts": {
            "example.org": "./org",
            "*.example.org": { "root": "./people", "listing": true, "cache-control": [] },
          },
        }
        ```

        """;

    private const string RestartPlace = "RESTART";

    public static string Text { get; } = Write();

    private static string Write()
    {
        IEnumerable<string> atRestart = OptionTable.All.Where(static option => option.Change == OptionChange.AtRestart)
            .Select(static option => $"`{option.Path}`");
        var page = new StringBuilder(Introduction.Replace(RestartPlace, $"{string.Join(", ", atRestart)}.", StringComparison.Ordinal));
        foreach (OptionSection section in OptionSection.All)
        {
            string note = section.Note;
            page.Append("\n## ").Append(section.Title).Append("\n\n");
            page.Append(note).Append(note.Length > 0 ? "\n\n" : "");
            page.Append("| | |\n|---|---|\n");
            foreach (ServerOption option in section.Options)
            {
                Write(page, option);
            }
        }

        return page.ToString();
    }

    private static void Write(StringBuilder page, ServerOption option)
    {
        string flag = option.Argument ?? $"{option.Flag} {option.ValueForm}";
        page.Append($"| `{option.Path}`<br>`{Escaped(flag)}`<br>`{option.Variable}` | ");
        page.Append(Escaped(option.Help));
        page.Append(option.Default.Length > 0 ? $" Default: {Escaped(DefaultOf(option))}." : "");
        page.Append(option.Occurrence == OptionOccurrence.Repeatable ? " May be repeated." : "");
        page.Append(option.Change == OptionChange.AtRestart ? " Needs a restart." : "");
        page.Append(" JSON type: ").Append(Escaped(WithoutArticle(FileValueOf(option)))).Append(". |\n");
    }

    private static string DefaultOf(ServerOption option) =>
        option.Accepts(option.Default) ? $"`{option.Default}`" : option.Default;

    /// <summary>The JSON value, with the names of an object's members, in Markdown.</summary>
    public static string FileValueOf(ServerOption option) => option.Parts.Count > 0 && !option.IsPair
        ? $"{option.JsonType} with {string.Join(", ", option.Parts.Select(static part => $"`{part.Name}`"))}"
        : option.JsonType;

    private static string WithoutArticle(string text) =>
        text.StartsWith("a ", StringComparison.Ordinal) ? text[2..]
        : text.StartsWith("an ", StringComparison.Ordinal) ? text[3..]
        : text;

    private static string Escaped(string text) => text.Replace("|", "\\|", StringComparison.Ordinal);
}
