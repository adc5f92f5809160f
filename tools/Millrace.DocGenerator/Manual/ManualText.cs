namespace Millrace.DocGenerator.Manual;

/// <summary>The text of the manual besides flags and commands. Backquotes mark literal text.</summary>
internal static class ManualText
{
    /// <summary>The date of the last change of this text.</summary>
    public const string Date = "2026-11-27";

    public const string Name = "serve a folder over HTTP and HTTPS";

    public const string Description =
        """
        millrace serves the files of a folder, by default the current one at http://127.0.0.1:8080/, and changed files within 100 ms. Each
        core runs its own reactor on its own io_uring, or on epoll where io_uring is missing or forbidden.

        Options come from flags, environment variables and a file. A flag replaces all values of the option in the environment, and those
        replace all values in the file. The file is read only if it is named.
        """;

    public const string Options =
        """
        The value of a flag follows a space or `=`. A value in brackets is optional; where it is shown with `=`, it follows `=` only. Sizes
        are bytes, or have a suffix for powers of 1,024, as `64k`, `256m`, `1g`. Times are seconds. SIGHUP does not change an option that
        needs a restart.
        """;

    public const string ConfigurationFile =
        """
        `--config` or `MILLRACE_CONFIG` names it. It is JSON in UTF-8; comments and trailing commas are allowed. Relative paths are resolved
        against the file's own folder. Mistakes are reported with line and column, all at once, and nothing is served.

        `millrace init` writes a starter file, `millrace check` prints what would be served, and `millrace schema` prints the JSON Schema
        for editors. Virtual hosts are an object, by name; each is a folder, or an object with `root` and its own options:
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
        ("MILLRACE_OPTION", "An option: its name in capitals, with underscores. Each line of the value of a repeatable option is one "
            + "occurrence. An empty variable is ignored."),
        ("MILLRACE_CONFIG", "The configuration file, as `--config` names it."),
        ("NO_COLOR", "If it is not empty: no colours on a terminal."),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "Where metrics are sent without `--otlp`; the other variables of OpenTelemetry apply too."),
        ("LISTEN_FDS, NOTIFY_SOCKET, WATCHDOG_USEC", "Sockets from systemd, and its notifications of start, reload, stop and progress."),
    ];

    public static IReadOnlyList<(string Name, string Text)> Signals { get; } =
    [
        ("SIGTERM, SIGINT", "Stop: no new connections; in-flight requests get the time of `--drain` to finish. A second signal stops at "
            + "once."),
        ("SIGHUP", "Read file, folders and certificates again. If that fails, the current configuration stays and the log says why."),
        ("SIGUSR1", "Open the access log again, after it was renamed."),
    ];

    public static IReadOnlyList<(string Name, string Text)> ExitStatus { get; } =
    [
        ("0", "Success: the server stopped when it was asked to, or the command succeeded."),
        ("1", "The host refuses: an address in use, a file that cannot be written. `doctor`: serving is slower than it could be. `probe`: "
            + "no successful response."),
        ("2", "A mistake: an unknown option, a bad address, a folder that does not exist. `doctor`: serving is impossible."),
    ];

    public static IReadOnlyList<(string Name, string Text)> Files { get; } =
    [
        ("/etc/default/millrace", "Folder and flags of `millrace.service`, of the Debian package. Its addresses are those of "
            + "`millrace.socket`."),
        ("_headers, _redirects", "In a root: rules of the site, unless `--site-files off`. They are not served."),
        ("FILE.br, FILE.gz, FILE.zst", "Compressed copies of FILE. They are sent in its place to clients that accept the coding, if they "
            + "are not older."),
        ("$XDG_DATA_HOME/millrace/", "The self-signed certificate of `--https` without `--cert`. Default of the variable: ~/.local/share."),
    ];

    public static IReadOnlyList<(string Text, string Command)> Examples { get; } =
    [
        ("A folder, for this machine only:", "millrace ./public"),
        ("For the public, with HTTPS:",
            "millrace ./public --listen 80 --https 443 \\\n  --cert site.pem --key site.key --https-redirect --hsts"),
        ("A single-page application, whose assets are cached for a year:",
            "millrace ./dist --listen 8080 --spa \\\n  --cache-control '/assets/*=public, max-age=31536000, immutable'"),
        ("Two hosts:", "millrace ./public --listen 8080 --host blog.example.org=./blog"),
        ("Check a configuration file, then reload it:", "millrace check millrace.json && kill -HUP \"$(pidof millrace)\""),
        ("Completions in this shell:", "source <(millrace completions bash)"),
    ];

    public static IReadOnlyList<(string Name, int Section)> SeeAlso { get; } =
        [("htpasswd", 1), ("io_uring", 7), ("logrotate", 8), ("systemd.service", 5), ("systemd.socket", 5)];
}
