using System.Text;
using Millrace.Server.Options.Files;
using Millrace.StaticFiles.Options;

namespace Millrace.Server.Options.Reference;

/// <summary>docs/configuration.md, made from the table.</summary>
internal static class ReferencePage
{
    private const string Introduction =
        """
        # Configuration

        All that the server can be told, and how: by a flag, by a variable of the environment, or in a file. This page is made from the
        table that the server itself reads its options with; [serving.md](serving.md) says at length what they do to a site.

        ```
        millrace init                        # writes millrace.json, with comments, to begin with
        millrace check millrace.json         # says what would be served, or what is wrong
        millrace --config millrace.json      # serves it
        kill -HUP "$(pidof millrace)"        # has the server read it anew
        ```

        ## Who has the last word

        1. **Flags.** `--keep-alive-timeout 30`.
        2. **The environment.** `MILLRACE_KEEP_ALIVE_TIMEOUT=30`. Where a flag may be repeated, each line of the value is one time. A flag
           that may stand alone needs its value here. An empty variable says nothing. `MILLRACE_CONFIG` names the file, as `--config` does.
        3. **The file.** `{ "limits": { "keep-alive-timeout": 30 } }`. It is read only if it is named.

        What one of them says of an option replaces all that those below it say of it: one `--listen` replaces all addresses of the file.
        `[]`, and `false` where a flag may stand alone, say the default. A host's own options in the file go before those that all sites
        share; flags and the environment go before both.

        ## The file

        JSON in UTF-8, in which comments and trailing commas are allowed. Relative paths are those of the file's own folder. What is
        misspelt, said twice, of a wrong type or not possible is told with line and column, all of it at once, and nothing is served:

        ```
        $ millrace check millrace.json
        millrace: millrace.json:4:3: 'chache-control' is not an option. Did you mean 'cache-control'?
        ```

        `millrace check [FILE]` takes the same flags, environment and file as the server, opens certificates and folders, looks where logs
        and unix sockets would be, and says what would be served. It takes no address and writes nothing. With `--user` it reads folders as
        that user, and says which certificates, keys and logs the server has open by then and could not open again: a reload would fail.
        Exit status 0 is fine, 2 is a mistake.

        `millrace schema` prints the file's [JSON Schema](millrace.schema.json); with `"$schema": "./millrace.schema.json"` in the file an
        editor completes and checks as you write.

        ## Reading it anew

        SIGHUP has a running server read the file, and the folders and certificates, anew. What is new is opened first; only if all of it
        can be had is it swapped in. Otherwise the configuration in use stays, and the log says why. Connections that are open stay open and
        get the new answers with their next request. An address that is no longer told lets nobody in, and who is in is served on. Sites and
        certificates that are told as before are kept, and their files are looked at. An address that moves between HTTP and HTTPS keeps its
        socket: who connects from then on speaks the other, and connections that are open stay what they are. One that becomes all of its
        port, or is no longer all of it (8080 for 127.0.0.1:8080), is opened beside the one of before; with `service.user`, whose sockets
        were another's, that takes a restart. Signals that come while another waits for a reload to end are one with it. What "needs a
        restart" below changes when the server is started again; a reload that finds it changed names it in the log:

        RESTART

        All else takes effect at once.

        Virtual hosts are an object, by name. Each has a folder, and if it likes its own options of the section [Sites](#sites):

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
        page.Append(" In the file: ").Append(Escaped(ValueShapes.DescribeWithParts(option))).Append(". |\n");
    }

    private static string DefaultOf(ServerOption option) =>
        option.TryApply(new ServeOptions(), option.Default, out _, out _) ? $"`{option.Default}`" : option.Default;

    private static string Escaped(string text) => text.Replace("|", "\\|", StringComparison.Ordinal);
}
