namespace Millrace.DocGenerator.Manual;

/// <summary>What the manual says besides flags and commands. Backquotes mark what is written as it stands.</summary>
internal static class ManualText
{
    /// <summary>When this text was last written, as manuals say; not when it was printed.</summary>
    public const string Date = "2026-11-22";

    public const string Name = "serve a folder over HTTP and HTTPS";

    public const string Description =
        """
        millrace serves the files of a folder, by default the current one at http://127.0.0.1:8080/, and sees them change. Every core runs
        its own reactor on its own io_uring; where that is missing or forbidden, on epoll.

        It takes options by flags, by the environment and from a file. What a flag says goes before the environment, and that before the
        file: each of them replaces all that those below it say of an option. Nothing is read unless it is named.
        """;

    public const string Options =
        """
        The value of a flag stands behind a space or `=`. A value in brackets may be left out; where it is shown with `=` it stands behind
        that only. A switch alone is on. Sizes are bytes, or as `64k`, `256m`, `1g`; times are seconds. What needs a restart is not changed
        by SIGHUP.
        """;

    public const string ConfigurationFile =
        """
        `--config` names it, or `MILLRACE_CONFIG`. It is JSON in UTF-8, in which comments and trailing commas are allowed; its relative
        paths are those of its own folder. What is misspelt, said twice or not possible is told with line and column, all of it at once, and
        nothing is served.

        `millrace init` writes one to begin with, `millrace check` says what it would serve, and `millrace schema` prints the JSON Schema
        that editors complete it from. Virtual hosts are an object, by name, each a folder or an object with `root` and options of its own:
        """;

    public const string ConfigurationExample =
        """
        {
          "root": "./public",
          "listen": 8080,
          "limits": { "keep-alive-timeout": 30 },
          "hosts": {
            "example.org": "./org",
            "*.example.org": { "root": "./people", "listing": true },
          },
        }
        """;

    public static IReadOnlyList<(string Name, string Text)> Environment { get; } =
    [
        ("MILLRACE_OPTION", "An option: its name in capitals, with underscores. Where it may be repeated, each line of the value is one "
            + "time. An empty variable says nothing."),
        ("MILLRACE_CONFIG", "The configuration file, as `--config` names it."),
        ("NO_COLOR", "Not empty: no colours on a terminal."),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "Where metrics are sent, as `--otlp` says; the other variables of OpenTelemetry apply too."),
        ("LISTEN_FDS, NOTIFY_SOCKET, WATCHDOG_USEC", "What systemd hands over and is told: sockets, that it serves, that reactors turn."),
    ];

    public static IReadOnlyList<(string Name, string Text)> Signals { get; } =
    [
        ("SIGTERM, SIGINT", "Stop: nobody is let in, and requests under way get the time of `--drain` to finish. The second ends it at "
            + "once."),
        ("SIGHUP", "Read file, folders and certificates anew. If not all of it can be had, all stays as it is and the log says why."),
        ("SIGUSR1", "Open the access log anew, when it was given another name."),
    ];

    public static IReadOnlyList<(string Name, string Text)> ExitStatus { get; } =
    [
        ("0", "Done: stopped as it was asked to, or the command succeeded."),
        ("1", "The host did not let it: an address in use, a file that cannot be written. Of `doctor`: serving would be slower; of "
            + "`probe`: no good answer."),
        ("2", "It was told something impossible: an unknown option, a bad address, a folder that is not there. Of `doctor`: serving is "
            + "impossible."),
    ];

    public static IReadOnlyList<(string Name, string Text)> Files { get; } =
    [
        ("/etc/default/millrace", "Folder and flags of `millrace.service`, of the Debian package. Its addresses are those of "
            + "`millrace.socket`."),
        ("_headers, _redirects", "In a root: rules of the site, unless `--site-files off`. They are not served."),
        ("FILE.br, FILE.gz, FILE.zst", "Beside a file: the same, coded. They are sent in its place to those who take them, while they are "
            + "not older than it."),
        ("$XDG_DATA_HOME/millrace/", "The local certificate of `--https` without `--cert`; below ~/.local/share without the variable."),
    ];

    public static IReadOnlyList<(string Text, string Command)> Examples { get; } =
    [
        ("A folder, for this machine only:", "millrace ./public"),
        ("For everybody, with HTTPS and without plain HTTP:",
            "millrace ./public --listen 80 --https 443 \\\n  --cert site.pem --key site.key --https-redirect --hsts"),
        ("A single-page application, and its responses cached by name:",
            "millrace ./dist --listen 8080 --spa \\\n  --cache-control '/assets/*=public, max-age=31536000, immutable'"),
        ("Two hosts:", "millrace ./public --listen 8080 --host blog.example.org=./blog"),
        ("What a file would serve, then a running server takes it:", "millrace check millrace.json && kill -HUP \"$(pidof millrace)\""),
        ("Completions in this shell:", "source <(millrace completions bash)"),
    ];

    public static IReadOnlyList<(string Name, int Section)> SeeAlso { get; } =
        [("htpasswd", 1), ("io_uring", 7), ("logrotate", 8), ("systemd.service", 5), ("systemd.socket", 5)];
}
