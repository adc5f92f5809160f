using System.Globalization;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Options;

/// <summary>
/// All options of a site but its root. An option is one row here and one property of <see cref="SiteOptions"/>; everything that reads or
/// explains it is made from the row.
/// </summary>
internal static class SiteOptionTable
{
    public static IReadOnlyList<SiteOption> All { get; } = [.. PageOptions(), .. FieldOptions(), .. RouteOptions(), .. ResourceOptions()];

    public static SiteOption? Find(string key) => All.FirstOrDefault(option => option.Key == key);

    private static IEnumerable<SiteOption> PageOptions() =>
    [
        Row("index", OptionValueKind.List, "NAME,...", "File names served for a directory, the first that exists.", "index.html,index.htm",
            (options, text) => options with { IndexNames = OptionText.List(text) }),
        Choice("dotfiles", "Whether names that start with a dot are served; /.well-known/ always is.", ["hide", "serve"],
            [DotfilePolicy.HiddenExceptWellKnown, DotfilePolicy.Served],
            (options, policy) => options with { Dotfiles = policy }),
        Row("spa", OptionValueKind.UrlPath, "PATH",
            "Page of a single-page application, served with status 200 for paths without a file that look like pages.", "",
            (options, text) => options with { Fallback = text }, bareValue: "/index.html"),
        Switch("clean-urls", "Serve about.html at /about, and redirect /about.html there.", "off",
            (options, isOn) => options with { CleanUrls = isOn }),
        Switch("merge-slashes", "Treat //a///b as /a/b; off: such a path is not found.", "on",
            (options, isOn) => options with { MergeSlashes = isOn }),
        Row("error-page", OptionValueKind.Rule, "STATUS=PATH",
            "File sent as the body of errors with a status, if it exists; STATUS= for none.", "404=/404.html",
            (options, text) => options with { ErrorPages = WithErrorPage(options.ErrorPages, OptionText.ErrorPage(text)) },
            isRepeatable: true),
        Switch("listing", "List the files of directories without an index.", "off",
            (options, isOn) => options with { Listing = isOn }),
        Row("charset", OptionValueKind.Text, "NAME", "Charset in the content types of text; 'none' for none.", "utf-8",
            (options, text) => options with { Charset = OptionText.Charset(text) }),
        Row("mime", OptionValueKind.Rule, "EXT=TYPE", "Content type of files with an extension, before the built-in ones.", "",
            (options, text) => options with { ContentTypes = WithContentType(options.ContentTypes, text) }, isRepeatable: true),
    ];

    private static IEnumerable<SiteOption> FieldOptions() =>
    [
        Row("cache-control", OptionValueKind.Rule, "GLOB=VALUE",
            "Cache-Control of matching paths, by the first match; else a year for names with a content hash, or no-cache.", "",
            (options, text) =>
            {
                (string pattern, string value) = OptionText.Pair(text, "GLOB=VALUE, as '*.css=max-age=3600'");
                return pattern is "max-age" or "s-maxage" or "stale-while-revalidate" or "stale-if-error"
                    ? throw OptionText.Refuse(text, "a value without paths", $"For all paths write '*={text}'.")
                    : options with { CacheControl = [.. options.CacheControl, new CacheRule(pattern, value)] };
            }, isRepeatable: true),
        Row("header", OptionValueKind.Rule, "[GLOB=]Name: value",
            "Header field of all responses, or of matching paths; the last one of a name applies.", "",
            (options, text) => options with { Fields = [.. options.Fields, OptionText.Field(text)] }, isRepeatable: true),
        Row("cors", OptionValueKind.List, "ORIGIN,...", "Let scripts of other sites read the files: of these origins, or of any (*).", "",
            (options, text) => options with { Cors = (options.Cors ?? new CorsOptions()) with { Origins = OptionText.List(text) } },
            bareValue: "*"),
        Switch("security-headers", "Send a preset of security fields (nosniff, no framing by others, and more).", "off",
            (options, isOn) => options with { SecurityHeaders = isOn }),
        Row("auth", OptionValueKind.File, "FILE", "Ask for a name and password of this htpasswd file, for every path.", "",
            (options, text) => options with { PasswordFile = text }),
        Row("realm", OptionValueKind.Text, "TEXT", "What a browser shows when it asks for the password.", "Restricted",
            (options, text) => options with { Realm = text }),
    ];

    private static IEnumerable<SiteOption> RouteOptions() =>
    [
        Row("redirect", OptionValueKind.Rule, "FROM TO [STATUS]",
            "Redirect paths that have no file, as '/old/* /new/:splat 301'; with STATUS! also paths that have one.", "",
            (options, text) => options with { Redirects = [.. options.Redirects, OptionText.Redirect(text)] }, isRepeatable: true),
        Row("rewrite", OptionValueKind.Rule, "FROM TO", "Rewrite requests that match no file, as '/app/* /app.html'.", "",
            (options, text) => options with { Redirects = [.. options.Redirects, OptionText.Rewrite(text)] }, isRepeatable: true),
        Switch("site-files", "Read _headers and _redirects in the root as rules, and do not serve them.", "on",
            (options, isOn) => options with { SiteFiles = isOn }),
    ];

    private static IEnumerable<SiteOption> ResourceOptions() =>
    [
        Switch("compress", "Compress files that gain from it, each once, in the background.", "on",
            (options, isOn) => options with { Compression = isOn }),
        Size("compress-memory", "Memory for compressed files, in bytes.", "64m",
            (options, text) => options with { CompressedBytesTotalMax = OptionText.Size(text) }),
        Choice("watch", "How changes are noticed: by inotify (auto: where it works), by a check at each request, or only at SIGHUP.",
            ["auto", "inotify", "revalidate", "off"],
            [WatchMode.Auto, WatchMode.Inotify, WatchMode.Revalidate, WatchMode.Off],
            (options, mode) => options with { Watch = mode }),
        Size("cache-max-file", "Largest file kept in memory, in bytes.", "1m",
            (options, text) => options with { CacheFileBytesMax = OptionText.IntSize(text) }),
        Size("cache-memory",
            "Memory for cached files, in bytes; auto is a site's share of 256 MiB or a tenth of the available memory.", "auto",
            (options, text) => options with { CacheBytesMax = text == "auto" ? null : OptionText.Size(text) }),
        Size("read-max", "Largest file that is sent with one read, in bytes; larger ones are streamed.", "256k",
            (options, text) => options with { ReadBytesMax = OptionText.IntSize(text) }),
        Switch("sendfile", "Send large streamed files without a copy, except for their ends.", "on",
            (options, isOn) => options with { SendFile = isOn }),
        Size("hash-max", "Bytes of files that are hashed for entity tags, the smallest files first.", "4g",
            (options, text) => options with { HashedBytesTotalMax = OptionText.Size(text) }),
        Count("descriptors", "Descriptors held open for files; auto is a site's share of half of the process's limit.", "auto",
            (options, text) => options with { DescriptorsMax = text == "auto" ? null : OptionText.Count(text) }),
        Count("entries-max", "Maximum number of directory entries in the root.", "2000000",
            (options, text) => options with { EntriesMax = OptionText.Count(text) }),
    ];

    private static SiteOption Row(
        string key,
        OptionValueKind kind,
        string form,
        string help,
        string defaultText,
        Func<SiteOptions, string, SiteOptions> apply,
        bool isRepeatable = false,
        string? bareValue = null)
    {
        return new()
        {
            Key = key,
            Kind = kind,
            ValueForm = form,
            Help = help,
            Default = defaultText,
            Apply = apply,
            Occurrence = isRepeatable ? OptionOccurrence.Repeatable : OptionOccurrence.Once,
            BareValue = bareValue,
        };
    }

    private static SiteOption Switch(string key, string help, string defaultText, Func<SiteOptions, bool, SiteOptions> apply) => new()
    {
        Key = key,
        Kind = OptionValueKind.Switch,
        ValueForm = "on|off",
        Choices = ["on", "off"],
        BareValue = "on",
        Help = help,
        Default = defaultText,
        Apply = (options, text) => apply(options, OptionText.Switch(text)),
    };

    /// <summary>The first choice is the default.</summary>
    private static SiteOption Choice<T>(string key, string help, string[] choices, T[] values, Func<SiteOptions, T, SiteOptions> apply)
    {
        SiteOptions Apply(SiteOptions options, string text) => Array.IndexOf(choices, text) is >= 0 and int index
            ? apply(options, values[index])
            : throw OptionText.Refuse(text, "not a valid choice", $"Write {string.Join(", ", choices[..^1])} or {choices[^1]}.");

        return new()
        {
            Key = key,
            Kind = OptionValueKind.Choice,
            ValueForm = string.Join('|', choices),
            Choices = choices,
            Help = help,
            Default = choices[0],
            Apply = Apply,
        };
    }

    private static SiteOption Size(string key, string help, string defaultText, Func<SiteOptions, string, SiteOptions> apply) =>
        Row(key, OptionValueKind.Size, "BYTES", help, defaultText, apply);

    private static SiteOption Count(string key, string help, string defaultText, Func<SiteOptions, string, SiteOptions> apply) =>
        Row(key, OptionValueKind.Count, "N", help, defaultText, apply);

    private static Dictionary<int, string> WithErrorPage(IReadOnlyDictionary<int, string> pages, (int Status, string Path) page)
    {
        var changed = new Dictionary<int, string>(pages);
        if (page.Path.Length == 0)
        {
            changed.Remove(page.Status);
        }
        else
        {
            changed[page.Status] = page.Path;
        }

        return changed;
    }

    private static Dictionary<string, string> WithContentType(IReadOnlyDictionary<string, string> types, string text)
    {
        (string extension, string type) = OptionText.Pair(text, "EXT=TYPE, as 'wasm=application/wasm'");
        return new Dictionary<string, string>(types, StringComparer.Ordinal) { [extension.TrimStart('.').ToLowerInvariant()] = type };
    }
}

/// <summary>
/// Parses the texts of options. Each method throws <see cref="SiteException"/> with cause and remedy for an invalid text.
/// </summary>
internal static class OptionText
{
    public static bool Switch(string text) => text switch
    {
        "on" or "true" => true,
        "off" or "false" => false,
        _ => throw Refuse(text, "neither on nor off", "Write on or off."),
    };

    public static int Count(string text) =>
        IsDigits(text) && int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int count)
            ? count
            : throw Refuse(text, "not a number", $"Write 0 to {int.MaxValue}.");

    /// <summary>A size in bytes, or with k, m, g, t for powers of 1,024, in either case.</summary>
    public static long Size(string text)
    {
        int power = text.Length == 0 ? -1 : "kmgt".IndexOf(char.ToLowerInvariant(text[^1]), StringComparison.Ordinal);
        ReadOnlySpan<char> digits = power < 0 ? text : text.AsSpan()[..^1];
        int shift = 10 * (power + 1);
        if (digits.Length == 0 || !IsDigits(digits))
        {
            throw Refuse(text, "not a size", "Write bytes, as 4096, or 64k, 256m, 1g.");
        }

        return long.TryParse(digits, NumberStyles.None, CultureInfo.InvariantCulture, out long size) && size <= long.MaxValue >> shift
            ? size << shift
            : throw Refuse(text, "too large", "Write bytes, as 4096, or 64k, 256m, 1g.");
    }

    /// <summary>A size that a buffer or an array can have.</summary>
    public static int IntSize(string text)
    {
        long size = Size(text);
        return size <= int.MaxValue ? (int)size : throw Refuse(text, "too large", "Write less than 2g.");
    }

    /// <summary>A charset name; "none" gives the empty string.</summary>
    public static string Charset(string text) => text switch
    {
        "none" => "",
        "" => throw Refuse(text, "empty", "Write a name as utf-8, or none."),
        _ => text,
    };

    public static List<string> List(string text) =>
        [.. text.Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries)];

    /// <summary>The texts before and after the first '='.</summary>
    public static (string Left, string Right) Pair(string text, string form)
    {
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        return equals > 0
            ? (text[..equals].Trim(), text[(equals + 1)..].Trim())
            : throw Refuse(text, "incomplete", $"Write {form}.");
    }

    /// <summary><c>Name: value</c> for all paths, <c>GLOB=Name: value</c> for some.</summary>
    public static FieldRule Field(string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        int equals = text.IndexOf('=', StringComparison.Ordinal);

        // A path may contain a colon, but a field name no slash.
        bool hasPattern = equals > 0 && (equals < colon || text[0] is '/' or '*');
        string pattern = hasPattern ? text[..equals].Trim() : "*";
        string field = hasPattern ? text[(equals + 1)..] : text;
        colon = field.IndexOf(':', StringComparison.Ordinal);
        return colon > 0
            ? new FieldRule(pattern, field[..colon].Trim(), field[(colon + 1)..].Trim())
            : throw Refuse(text, "not a field", "Write 'Name: value', or 'GLOB=Name: value' for some paths.");
    }

    public static RedirectRule Redirect(string text, int defaultStatus = 301) => RedirectsFile.ParseLine(text, defaultStatus);

    public static RedirectRule Rewrite(string text) => Redirect(text, defaultStatus: 200) is { Status: 200 } rule
        ? rule
        : throw Refuse(text, "not a rewrite: its status is not 200", "Write 'FROM TO', or use --redirect.");

    public static (int Status, string Path) ErrorPage(string text)
    {
        (string status, string path) = Pair(text, "STATUS=PATH, as 404=/missing.html");
        return IsDigits(status) && int.TryParse(status, NumberStyles.None, CultureInfo.InvariantCulture, out int number)
            ? (number, path)
            : throw Refuse(text, "not a page of a status", "Write STATUS=PATH, as 404=/missing.html.");
    }

    /// <summary>The runtime also accepts zero characters after a number.</summary>
    private static bool IsDigits(ReadOnlySpan<char> text) => !text.ContainsAnyExceptInRange('0', '9');

    public static SiteException Refuse(string text, string why, string remedy) => new($"'{FieldValidation.Shown(text)}' is {why}.", remedy);
}
