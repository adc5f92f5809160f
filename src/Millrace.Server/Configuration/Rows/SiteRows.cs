using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Rules;

namespace Millrace.Server.Configuration.Rows;

/// <summary>All options of a site but its root. Each is one row here and one property of <see cref="SiteOptions"/>.</summary>
internal static class SiteRows
{
    private static readonly OptionGroup Group = new("", OptionChange.AtReload);

    private static readonly OrderedDictionary<string, DotfilePolicy> DotfilePolicies = new()
    {
        ["hide"] = DotfilePolicy.HiddenExceptWellKnown,
        ["serve"] = DotfilePolicy.Served,
    };

    private static readonly OrderedDictionary<string, WatchMode> WatchModes = new()
    {
        ["auto"] = WatchMode.Auto,
        ["inotify"] = WatchMode.Inotify,
        ["revalidate"] = WatchMode.Revalidate,
        ["off"] = WatchMode.Off,
    };

    private static readonly OrderedDictionary<string, bool> PageDictionaries = new()
    {
        ["off"] = false,
        ["auto"] = true,
    };

    private static readonly OrderedDictionary<string, ForwardedFields> ForwardedKinds = new()
    {
        ["x-forwarded"] = ForwardedFields.XForwarded,
        ["forwarded"] = ForwardedFields.Forwarded,
        ["none"] = ForwardedFields.None,
    };

    public static IEnumerable<ServerOption> All => [.. Pages, .. Fields, .. Access, .. Routes, .. Resources, .. Dictionaries];

    private static IEnumerable<ServerOption> Pages =>
    [
        Row("index", OptionValueKind.List, "NAME,...", "File names to serve for a directory: the first that exists.",
            "index.html,index.htm",
            static (options, text) => options with { IndexNames = OptionText.List(text) }),
        Choice("dotfiles", "a policy for dotfiles", "Whether names that start with a dot are served; /.well-known/ in the root always is.",
            DotfilePolicies,
            static options => options.Dotfiles,
            static (options, policy) => options with { Dotfiles = policy }),
        Row("spa", OptionValueKind.UrlPath, "PATH",
            "Page of a single-page application, served with status 200 for paths that look like pages but have no file.", "",
            static (options, text) => options with { Fallback = text }) with { BareValue = "/index.html" },
        Switch("clean-urls", "Serve about.html at /about, and redirect /about.html there.",
            static options => options.CleanUrls,
            static (options, isOn) => options with { CleanUrls = isOn }),
        Switch("merge-slashes", "Treat //a///b as /a/b; off: such a path is not found.",
            static options => options.MergeSlashes,
            static (options, isOn) => options with { MergeSlashes = isOn }),
        Rule("error-page", "STATUS=PATH",
            "File sent as the body of errors with this status, if it exists; STATUS= for none.", "404=/404.html",
            static (options, text) => options with { ErrorPages = WithErrorPage(options.ErrorPages, OptionText.ErrorPage(text)) },
            new RulePart("status", After: "="), new RulePart("page")),
        Switch("listing", "List the files of directories without an index.",
            static options => options.Listing,
            static (options, isOn) => options with { Listing = isOn }),
        Row("archives", OptionValueKind.List, "FORMAT,...",
            "Let clients download a listed directory as a whole, by ?archive=tar.gz and ?archive=zip.", "",
            static (options, text) => options with { Archives = OptionText.Archives(text) }) with { BareValue = "tar.gz,zip" },
        Row("archives-max", OptionValueKind.Count, "N",
            "Archives that are sent at the same time, a quarter of them to one client; a request beyond is 503.", "16",
            static (options, text) => options with { ArchivesMax = OptionText.Count(text) }),
        Row("charset", OptionValueKind.Text, "NAME", "Charset in the content types of text; 'none' for none.", "utf-8",
            static (options, text) => options with { Charset = OptionText.Charset(text) }),
        Rule("mime", "EXT=TYPE", "Content type of files with an extension, instead of the built-in type.", "",
            static (options, text) => options with { ContentTypes = WithContentType(options.ContentTypes, text) },
            new RulePart("extension", After: "="), new RulePart("type")),
    ];

    private static IEnumerable<ServerOption> Fields =>
    [
        Rule("cache-control", "GLOB=VALUE",
            "Cache-Control of matching paths; the first match applies. Default: a year for hashed names, else no-cache.", "",
            static (options, text) =>
            {
                (string pattern, string value) = OptionText.Pair(text, "GLOB=VALUE, such as '*.css=max-age=3600'");
                return pattern is "max-age" or "s-maxage" or "stale-while-revalidate" or "stale-if-error"
                    ? throw OptionText.Refuse(text, "a value without paths", $"For all paths write '*={text}'.")
                    : options with { CacheControl = [.. options.CacheControl, new CacheRule(pattern, value)] };
            },
            new RulePart("path", After: "="), new RulePart("value")),
        Rule("header", "[GLOB=]Name: value",
            "Header field of all responses, or of matching paths; if several have the same name, the last applies.", "",
            static (options, text) => options with { Fields = [.. options.Fields, OptionText.Field(text)] },
            new RulePart("path", After: "=", IsOptional: true), new RulePart("name", After: ": "), new RulePart("value")),
        Row("cors", OptionValueKind.List, "ORIGIN,...", "Let scripts of these origins, or of any (*), read the files.", "",
            static (options, text) => options with { Cors = (options.Cors ?? new CorsOptions()) with { Origins = OptionText.List(text) } })
            with { BareValue = "*" },
        Switch("security-headers", "Send a preset of security fields (nosniff, no framing by others, and more).",
            static options => options.SecurityHeaders,
            static (options, isOn) => options with { SecurityHeaders = isOn }),
    ];

    private static IEnumerable<ServerOption> Access =>
    [
        Rule("auth", "[GLOB=]FILE",
            "Require a password from this htpasswd file for matching paths (without GLOB: for all others); GLOB=off: none.", "",
            static (options, text) => WithPasswords(options, text),
            new RulePart("path", After: "=", IsOptional: true), new RulePart("file")) with
        {
            PathAt = static text => text.EndsWith("=off", StringComparison.Ordinal) ? -1 : text.IndexOf('=', StringComparison.Ordinal) + 1,
        },
        Row("realm", OptionValueKind.Text, "TEXT", "What a browser shows when it asks for the password.", "Restricted",
            static (options, text) => options with { Realm = text }),
        Rule("allow", "[GLOB=]CIDR,...",
            "Respond 403 for matching paths, except to these networks, 'all' or 'unix'; the first match applies.", "",
            static (options, text) => options with { AllowedClients = [.. options.AllowedClients, OptionText.Clients(text)] },
            new RulePart("path", After: "=", IsOptional: true), new RulePart("clients")),
        Rule("deny", "[GLOB=]CIDR,...",
            "Respond 403 for matching paths to these networks, 'all' or 'unix', whatever --allow says.", "",
            static (options, text) => options with { DeniedClients = [.. options.DeniedClients, OptionText.Clients(text)] },
            new RulePart("path", After: "=", IsOptional: true), new RulePart("clients")),
        Rule("forward-auth", "[GLOB=]URL",
            "Ask this service first: 2xx lets a request pass, other responses go to the client. GLOB=off: do not ask.", "",
            static (options, text) => options with { ForwardAuth = [.. options.ForwardAuth, ForwardAuthRule.Parse(text)] },
            new RulePart("path", After: "=", IsOptional: true), new RulePart("url")),
        Row("forward-auth-copy", OptionValueKind.List, "NAME,...",
            "Fields of the --forward-auth service's response that applications get, instead of the client's.", "",
            static (options, text) => options with { ForwardAuthCopy = OptionText.FieldNames(text) }),
        Row("maintenance", OptionValueKind.File, "FILE",
            "While this file exists, respond 503 to each request, with its content if that is HTML, else the error page.", "",
            static (options, text) => options with { MaintenanceFile = text }),
    ];

    private static IEnumerable<ServerOption> Routes =>
    [
        Rule("redirect", "FROM TO [STATUS]",
            "Redirect paths that have no file, such as '/old/* /new/:splat 301'; with STATUS!, paths that have one too.", "",
            static (options, text) => options with { Redirects = [.. options.Redirects, OptionText.Redirect(text)] },
            new RulePart("from", After: " "), new RulePart("to"), new RulePart("status", Before: " ", IsOptional: true)),
        Rule("rewrite", "FROM TO", "Rewrite requests that match no file, such as '/app/* /app.html'.", "",
            static (options, text) => options with { Redirects = [.. options.Redirects, OptionText.Rewrite(text)] },
            new RulePart("from", After: " "), new RulePart("to")),
        Rule("proxy", "PATH[!] TARGET... [host=upstream]",
            "Send requests to an application: '/api/* http://127.0.0.1:5000'; with PATH!, only those without a file.", "",
            static (options, text) => options with { Proxies = [.. options.Proxies, ProxyRuleText.Parse(text)] },
            new RulePart("path", After: " "), new RulePart("to"), new RulePart("host", Before: " host=", IsOptional: true)),
        Row("proxy-allow", OptionValueKind.List, "TARGET,...",
            "Targets to which rules of _redirects (a URL with status 200) may send requests.", "",
            static (options, text) => options with { ProxyAllow = OptionText.List(text) }),
        Choice("proxy-forwarded", "a kind of forwarded fields",
            "Fields that tell applications about the client: X-Forwarded-For, -Proto and -Host; Forwarded; or none.",
            ForwardedKinds,
            static options => options.ProxyForwarded,
            static (options, kind) => options with { ProxyForwarded = kind }),
        Switch("proxy-via", "Add Via to requests to applications and to their responses.",
            static options => options.ProxyVia,
            static (options, isOn) => options with { ProxyVia = isOn }),
        Switch("site-files", "Read _headers and _redirects in the root as rules, and do not serve them.",
            static options => options.SiteFiles,
            static (options, isOn) => options with { SiteFiles = isOn }),
    ];

    private static IEnumerable<ServerOption> Resources =>
    [
        Switch("compress", "Compress files that gain from it, each once, in the background.",
            static options => options.Compression,
            static (options, isOn) => options with { Compression = isOn }),
        Size("compress-memory",
            "Memory for compressed files, in bytes; by default at most 1/32 of the available memory.", "64m",
            static (options, text) => options with { CompressedBytesTotalMax = OptionText.Size(text) }),
        Switch("coded-by-name", "Send app.js.gz, .br or .zst, if requested by name, as a compressed app.js, which browsers decode.",
            static options => options.CodedByName,
            static (options, isOn) => options with { CodedByName = isOn }),
        Choice("watch", "a watch mode",
            "How changes are noticed. auto: inotify where it works, else revalidate (at each request); off: only at SIGHUP.",
            WatchModes,
            static options => options.Watch,
            static (options, mode) => options with { Watch = mode }),
        Size("cache-max-file", "Largest file kept in memory, in bytes.", "1m",
            static (options, text) => options with { CacheFileBytesMax = OptionText.IntSize(text) }),
        Size("cache-memory",
            "Memory for cached files, in bytes; auto: 256 MiB, or a tenth of the available memory if less, for all sites.", "auto",
            static (options, text) => options with { CacheBytesMax = text == "auto" ? null : OptionText.Size(text) }),
        Size("read-max", "Largest file that is sent with one read, in bytes; larger ones are streamed.", "256k",
            static (options, text) => options with { ReadBytesMax = OptionText.IntSize(text) }),
        Switch("sendfile", "Send files from the page cache without a copy, except for their last 36 MiB (before Linux 6.16: 10 MiB).",
            static options => options.SendFile,
            static (options, isOn) => options with { SendFile = isOn }),
        Size("hash-max", "Bytes hashed for entity tags, smallest files first; other files have tags of time and size.", "4g",
            static (options, text) => options with { HashedBytesTotalMax = OptionText.Size(text) }),
        Row("descriptors", OptionValueKind.Count, "N",
            "Descriptors held open for files; auto: half of the process's limit, shared by all sites.", "auto",
            static (options, text) => options with { DescriptorsMax = text == "auto" ? null : OptionText.Count(text) }),
        Row("entries-max", OptionValueKind.Count, "N", "Maximum number of directory entries in the root.", "2000000",
            static (options, text) => options with { EntriesMax = OptionText.Count(text) }),
    ];

    private static IEnumerable<ServerOption> Dictionaries =>
    [
        Switch("dictionaries",
            "Send files with a content hash as the difference to an earlier version that the browser has (HTTPS only).",
            static options => options.Dictionaries,
            static (options, isOn) => options with { Dictionaries = isOn }),
        Choice("page-dictionary", "a kind of page dictionary",
            "Make a dictionary of what the HTML pages have in common, and code pages with it (HTTPS only).",
            PageDictionaries,
            static options => options.PageDictionary,
            static (options, isOn) => options with { PageDictionary = isOn }),
        Row("dictionary-dir", OptionValueKind.Folder, "DIR",
            "Folder for files of earlier deployments; default: in $STATE_DIRECTORY, or in the user's data folder.", "",
            static (options, text) => options with { DictionaryDirectory = text }),
        Row("dictionary-versions", OptionValueKind.Count, "N", "Earlier versions of a file that are dictionaries.", "3",
            static (options, text) => options with { DictionaryVersions = OptionText.Count(text) }) with
        {
            Range = (1, SiteOptionChecks.DictionaryVersionsMax),
        },
        Size("dictionary-store", "Size of a site's part of --dictionary-dir, in bytes; in memory at most 32 MiB.", "256m",
            static (options, text) => options with { DictionaryStoreBytesMax = OptionText.Size(text) }),
        Size("dictionary-memory",
            "Memory for files coded with dictionaries, in bytes; by default at most 1/64 of the available memory.", "16m",
            static (options, text) => options with { DictionaryBytesTotalMax = OptionText.Size(text) }),
        Size("dictionary-max-file",
            "Largest file that is coded with a dictionary, in bytes, up to 8m; coding takes 20 times its size in memory.", "4m",
            static (options, text) => options with { DictionaryFileBytesMax = OptionText.SizeUpTo(8, text) }),
        Row("dictionary-cpu", OptionValueKind.Count, "PERCENT", "Share of one processor that coding with dictionaries takes at most.", "25",
            static (options, text) => options with { DictionaryProcessorPercent = OptionText.Count(text) }) with
        {
            Range = (1, 100),
        },
    ];

    private static ServerOption Row(
        string key, OptionValueKind kind, string form, string help, string defaultText, Func<SiteOptions, string, SiteOptions> set) =>
        Group.Text(key, kind, form, help, (options, text) => With(options, set(options.Site, text))) with
        {
            Scope = OptionScope.Site,
            Default = defaultText,
            Choices = defaultText == "auto" ? [defaultText] : [],
        };

    private static ServerOption Rule(
        string key,
        string form,
        string help,
        string defaultText,
        Func<SiteOptions, string, SiteOptions> set,
        params IReadOnlyList<RulePart> parts) =>
        Row(key, OptionValueKind.Rule, form, help, defaultText, set) with { Occurrence = OptionOccurrence.Repeatable, Parts = parts };

    private static ServerOption Size(string key, string help, string defaultText, Func<SiteOptions, string, SiteOptions> set) =>
        Row(key, OptionValueKind.Size, "BYTES", help, defaultText, set);

    private static ServerOption Switch(string key, string help, Func<SiteOptions, bool> read, Func<SiteOptions, bool, SiteOptions> set) =>
        Group.Switch(key, help, options => read(options.Site), (options, isOn) => With(options, set(options.Site, isOn))) with
        {
            Scope = OptionScope.Site,
        };

    private static ServerOption Choice<T>(
        string key,
        string kind,
        string help,
        OrderedDictionary<string, T> words,
        Func<SiteOptions, T> read,
        Func<SiteOptions, T, SiteOptions> set) =>
        Group.Choice(
            key, kind, help, words, options => read(options.Site), (options, choice) => With(options, set(options.Site, choice))) with
        {
            Scope = OptionScope.Site,
        };

    private static ServeOptions With(ServeOptions options, SiteOptions site)
    {
        SiteOptionChecks.CheckValues(site);
        return options with { Site = site };
    }

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

    private static SiteOptions WithPasswords(SiteOptions options, string text)
    {
        int equals = text.IndexOf('=', StringComparison.Ordinal);
        string file = text[(equals + 1)..];
        string? required = file == "off" ? null : file;
        return equals < 0
            ? options with { PasswordFile = file }
            : options with { PasswordRules = [.. options.PasswordRules, new PasswordRule(text[..equals].Trim(), required)] };
    }

    private static Dictionary<string, string> WithContentType(IReadOnlyDictionary<string, string> types, string text)
    {
        (string extension, string type) = OptionText.Pair(text, "EXT=TYPE, such as 'wasm=application/wasm'");
        return new Dictionary<string, string>(types, StringComparer.Ordinal) { [extension.TrimStart('.').ToLowerInvariant()] = type };
    }
}
