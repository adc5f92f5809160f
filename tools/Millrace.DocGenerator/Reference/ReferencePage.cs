using System.Text;
using Millrace.Server.Configuration;

namespace Millrace.DocGenerator.Reference;

/// <summary>Generates docs/configuration.md from the table.</summary>
internal static class ReferencePage
{
    private const string Introduction =
        """
        # Configuration

        Set any option of the server by a flag, an environment variable, or a JSON file. [serving.md](serving.md) explains what the options
        do. This page is generated from the server's own table.

        ```
        millrace init                        # writes millrace.json, a commented starter file
        millrace check millrace.json         # prints what would be served, or what is wrong
        millrace --config millrace.json      # serves it
        kill -HUP PID                        # reloads it; with the package: systemctl reload millrace
        ```

        ## Precedence

        1. **Flags.** `--keep-alive-timeout 30`. `--port N` or `-p N` means `--listen localhost:N`.
        2. **Environment variables.** `MILLRACE_KEEP_ALIVE_TIMEOUT=30`. For a repeatable option, write one value per line. An empty variable
           is ignored.
        3. **The file.** `{ "limits": { "keep-alive-timeout": 30 } }`. It is read only if `--config FILE` or `MILLRACE_CONFIG` names it.

        A source replaces all values of an option from the sources below it: one `--listen` replaces all addresses in the file. In the file,
        `[]` resets a list to its default. `false` turns off an option whose value is optional, such as `spa`. A host's own options override
        the file's options for all sites. Flags and variables override both.

        ## The file

        The file is JSON in UTF-8; comments and trailing commas are allowed. Relative paths are resolved against the file's own folder.
        Mistakes are reported with line and column, all at once, and nothing is served:

        ```
        $ millrace check millrace.json
        millrace: millrace.json:4:3: 'chache-control' is not an option. Did you mean 'cache-control'?
        ```

        - Switches are `true` or `false`; if no default is shown, it is `false`.
        - Numbers, times and sizes are numbers; sizes may be strings with `k`, `m`, `g` or `t`, for powers of 1,024 (`"64k"`).
        - Addresses are strings or ports.
        - Options of the form A=B become an object: `{ "A": "B" }`.
        - An option that may be repeated, or whose flag takes commas, is one value or a list.
        - `auth`, `allow`, `deny`, `header` and other options with several parts differ: the tables show how. Everything else is a string.
        - Virtual hosts are an object, by name: each is a folder, or an object with `root` and options of the section [Sites](#sites).

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

        `millrace check [FILE]` takes the server's flags, variables and file, and prints what would be served, or what is wrong (exit status
        2, also for lines of `_headers` and `_redirects` that are ignored). It opens certificates and folders, but binds no address and
        writes nothing. With `--user` it also reports files that this user could not open again at a reload.

        `millrace schema` prints the [JSON Schema](millrace.schema.json); with `"$schema": "./millrace.schema.json"` in the file, editors
        complete and check it.

        ## Reload

        On SIGHUP the server reads the file, the folders and the certificates again. If the file has a mistake, or something that it newly
        names cannot be opened, the whole current configuration stays, and the log says why. A folder or certificate that was named before
        and cannot be read again keeps its current version, with an error in the log; the rest is applied.

        - Open connections stay open, and their next request gets the new content.
        - Removing an address closes its listener. Existing connections continue; TCP handshakes in progress get two seconds to finish.
        - An address that moves between HTTP and HTTPS keeps its socket: existing connections keep their protocol.
        - With `service.user`, changing an address from one interface to all (or back) on the same port needs a restart.
        - Options marked † need a restart; the log names those that changed.

        In the tables, \* marks an option that may be repeated, and brackets a value that the flag may be without. An option's variable
        is `MILLRACE_` and the flag's name, in capitals and with `_` for `-`.

        """;

    public static string Text { get; } = Write();

    private static string Write()
    {
        var page = new StringBuilder(Introduction);
        foreach (OptionSection section in OptionSection.All)
        {
            string note = section.Note;
            page.Append("\n## ").Append(section.Title).Append("\n\n");
            page.Append(note).Append(note.Length > 0 ? "\n\n" : "");
            page.Append("| In the file, flag | |\n|---|---|\n");
            foreach (ServerOption option in section.Options)
            {
                Write(page, option);
            }
        }

        return page.ToString();
    }

    private static void Write(StringBuilder page, ServerOption option)
    {
        string value = option.ValuePlace switch
        {
            ValuePlace.Attached => $"[={option.ValueForm}]",
            ValuePlace.MayFollow => $" [{option.ValueForm}]",
            _ => $" {option.ValueForm}",
        };
        string flag = option.Argument ?? option.Flag + value;
        page.Append($"| `{option.Path}`<br>`{Escaped(flag)}`");
        page.Append(option.Occurrence == OptionOccurrence.Repeatable ? "\\*" : "");
        page.Append(option.Change == OptionChange.AtRestart ? "†" : "");
        page.Append(" | ").Append(Escaped(option.Help));
        page.Append(option.Default is "" or "off" ? "" : $" Default: {Escaped(DefaultOf(option))}.");
        page.Append(HasOwnJsonType(option) ? $" In the file: {Escaped(FileValueOf(option))}." : "").Append(" |\n");
    }

    private static string DefaultOf(ServerOption option) =>
        option.Accepts(option.Default) && !option.Default.Contains(' ', StringComparison.Ordinal) ? $"`{option.Default}`" : option.Default;

    /// <summary>Whether the rules of the introduction do not give the JSON value.</summary>
    private static bool HasOwnJsonType(ServerOption option) =>
        (option.Kind == OptionValueKind.Rule && !option.IsPair) || (option.BareValue is not null && option.Kind != OptionValueKind.Switch);

    /// <summary>The JSON value, with the names of an object's members, in Markdown.</summary>
    public static string FileValueOf(ServerOption option) => option.Parts.Count > 0 && !option.IsPair
        ? $"{option.JsonType} with {string.Join(", ", option.Parts.Select(static part => $"`{part.Name}`"))}"
        : option.JsonType;

    private static string Escaped(string text) => text.Replace("|", "\\|", StringComparison.Ordinal);
}
