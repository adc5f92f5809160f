using Millrace.Interop.Files;
using Millrace.Interop.Memory;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles;

/// <summary>Settings of one site. Immutable: a changed option needs a new catalog.</summary>
public sealed record SiteOptions
{
    private const long CompressedBytesTotalDefault = 64L * 1024 * 1024;
    private const long DictionaryBytesTotalDefault = 16L * 1024 * 1024;

    /// <summary>The directory to serve. A symlink here is resolved again at every reload, so that a release can be switched.</summary>
    public required string Root { get; init; }

    /// <summary>
    /// The file names that serve as a directory's index; the first that exists is used. Default: <c>index.html</c>, <c>index.htm</c>.
    /// </summary>
    public IReadOnlyList<string> IndexNames { get; init; } = ["index.html", "index.htm"];

    /// <summary>Whether names that start with a dot are served. Default: hidden, except <c>/.well-known/</c>.</summary>
    public DotfilePolicy Dotfiles { get; init; }

    /// <summary>
    /// The page of a single-page application that is served, with status 200, for paths that are not found, if the path's last segment has
    /// no '.' or the client's Accept names HTML: a missing script must stay a 404. Default (null): none.
    /// </summary>
    public string? Fallback { get; init; }

    /// <summary>
    /// Whether <c>/about</c> serves <c>/about.html</c>, and the longer form redirects to it. Default: no, a path names its file.
    /// </summary>
    public bool CleanUrls { get; init; }

    /// <summary>
    /// Whether repeated slashes count as one: <c>//a///b</c> is served as <c>/a/b</c>. Default: yes, as in nginx. Otherwise such a path is
    /// not found.
    /// </summary>
    public bool MergeSlashes { get; init; } = true;

    /// <summary>
    /// The files that are the bodies of error responses, by status. One that does not exist is ignored. Default: <c>/404.html</c> for 404,
    /// as static site generators name it.
    /// </summary>
    public IReadOnlyDictionary<int, string> ErrorPages { get; init; } = new Dictionary<int, string> { [404] = DefaultNotFoundPage };

    /// <summary>Used if it exists.</summary>
    internal const string DefaultNotFoundPage = "/404.html";

    /// <summary>
    /// Whether a directory without an index lists its files. Default: no, so that unlinked names are not published by accident.
    /// </summary>
    public bool Listing { get; init; }

    /// <summary>
    /// In which formats a directory that is listed can be downloaded with all that is in it, as <c>?archive=zip</c>: the files that the
    /// requester may see. Default: none. No effect without <see cref="Listing"/>.
    /// </summary>
    public ArchiveFormats Archives { get; init; }

    /// <summary>
    /// How many archives are sent at the same time, a quarter of them to one client; a request beyond is answered with 503. Each takes half
    /// a megabyte, and a zip archive 80 bytes for each of its entries. Default 16.
    /// </summary>
    public int ArchivesMax { get; init; } = 16;

    /// <summary>
    /// Cache-Control by path; the first match decides. Default: none, so names with a content hash are immutable for a year and all others
    /// <c>no-cache</c>: stored but revalidated, so that a changed file is seen at once.
    /// </summary>
    public IReadOnlyList<CacheRule> CacheControl { get; init; } = [];

    /// <summary>
    /// Response fields by path. A later rule replaces an earlier one's field of the same name, and all take precedence over the site's own
    /// <c>_headers</c> file: the operator overrides the site. Default: none.
    /// </summary>
    public IReadOnlyList<FieldRule> Fields { get; init; } = [];

    /// <summary>Which other origins' scripts may read the files. Default (null): none (RFC 6454's same origin).</summary>
    public CorsOptions? Cors { get; init; }

    /// <summary>
    /// Whether responses carry a preset of security fields, which rules can replace one by one. Default: no, because some of them (no
    /// framing by others, no camera) break sites that were made without them.
    /// </summary>
    public bool SecurityHeaders { get; init; }

    /// <summary>The charset of text types; empty for none. Default <c>utf-8</c>: without one a browser guesses by locale.</summary>
    public string Charset { get; init; } = "utf-8";

    /// <summary>
    /// Content types by extension (without its dot, in lower case), before the built-in table. Default: none.
    /// </summary>
    public IReadOnlyDictionary<string, string> ContentTypes { get; init; } = new Dictionary<string, string>();

    /// <summary>
    /// Redirects and rewrites; the first match applies, before those of the site's own <c>_redirects</c> file. Default: none.
    /// </summary>
    public IReadOnlyList<RedirectRule> Redirects { get; init; } = [];

    /// <summary>
    /// Rules that send requests to applications; the first match applies. Only the program has them: in ASP.NET Core the application is
    /// there already. Default: none.
    /// </summary>
    internal IReadOnlyList<ProxyRule> Proxies { get; init; } = [];

    /// <summary>
    /// The applications that rules of <c>_redirects</c> with a URL and status 200 may lead to, as <c>http://127.0.0.1:5000</c>. Default:
    /// none, as a deployed file alone must not make the server ask elsewhere.
    /// </summary>
    internal IReadOnlyList<string> ProxyAllow { get; init; } = [];

    /// <summary>Which fields tell applications about the client. Default: X-Forwarded-For, -Proto and -Host.</summary>
    internal ForwardedFields ProxyForwarded { get; init; }

    /// <summary>Whether requests to applications and their responses get a Via field. Default: no.</summary>
    internal bool ProxyVia { get; init; }

    /// <summary>
    /// A rule for each set of applications that requests of this site may be sent to, services that decide on access among them.
    /// </summary>
    internal IEnumerable<ProxyRule> UpstreamRules =>
    [
        .. Proxies,
        .. ProxyAllow.Select(static text => new ProxyRule("/*", [ProxyTarget.Parse(text).ToString()])),
        .. ForwardAuth.Where(static rule => rule.Url is not null).Select(static rule => new ProxyRule("/*", [rule.Target])),
    ];

    /// <summary>
    /// Whether <c>_headers</c> and <c>_redirects</c> in the root are rules in the syntax of Netlify and Cloudflare, and not served.
    /// Default: yes, so that a site made for them works unchanged.
    /// </summary>
    public bool SiteFiles { get; init; } = true;

    /// <summary>
    /// An htpasswd file: every path that <see cref="PasswordRules"/> do not name needs credentials from it, otherwise the response is 401.
    /// Where not everybody may read, <c>public</c> in the default Cache-Control becomes <c>private</c> (RFC 9111, section 3.5). Default
    /// (null): everybody may read.
    /// </summary>
    public string? PasswordFile { get; init; }

    /// <summary>
    /// The htpasswd files of paths; the first match decides, and <see cref="PasswordFile"/> after them. Rules about access also match
    /// without regard to case, with or without the slash at the end, and the names of precompressed siblings; and a request that leads to
    /// another path, as a rewrite does, needs what both need. Default: none.
    /// </summary>
    public IReadOnlyList<PasswordRule> PasswordRules { get; init; } = [];

    /// <summary>
    /// Which clients may see which paths: where some are allowed, the response to the others is 403. The first match decides. Default: all.
    /// </summary>
    public IReadOnlyList<ClientRule> AllowedClients { get; init; } = [];

    /// <summary>Which clients may not see which paths, whatever else allows them. Default: none.</summary>
    public IReadOnlyList<ClientRule> DeniedClients { get; init; } = [];

    /// <summary>The services that decide on paths; the first match decides which. Only the program has them. Default: none.</summary>
    internal IReadOnlyList<ForwardAuthRule> ForwardAuth { get; init; } = [];

    /// <summary>The fields of these services' responses that applications get. Default: none.</summary>
    internal IReadOnlyList<string> ForwardAuthCopy { get; init; } = [];

    /// <summary>
    /// How many requests each client may send; a request counts for each rule that its path matches. Only the program has them. Default:
    /// any number.
    /// </summary>
    internal IReadOnlyList<RateLimitRule> RateLimits { get; init; } = [];

    /// <summary>The rules about passwords, that of <see cref="PasswordFile"/> last.</summary>
    internal IEnumerable<PasswordRule> AllPasswordRules =>
        PasswordFile is string file ? PasswordRules.Append(new PasswordRule("*", file)) : PasswordRules;

    internal IEnumerable<string> PasswordFiles => AllPasswordRules.Select(static rule => rule.PasswordFile).OfType<string>();

    /// <summary>Files that no site serves, under any name. A site adds its password file.</summary>
    internal PrivateFiles? PrivateFiles { get; init; }

    /// <summary>
    /// A file during whose existence every request is answered with 503 and Retry-After, with its content if that is HTML. Only the program
    /// has it. Default (null): none.
    /// </summary>
    internal string? MaintenanceFile { get; init; }

    /// <summary>The realm that the browser shows when it asks for a password. Default <c>Restricted</c>.</summary>
    public string Realm { get; init; } = "Restricted";

    /// <summary>
    /// Whether the server compresses files that compress well and have no <c>.br</c>, <c>.gz</c> or <c>.zst</c> beside them: each once, in
    /// the background, with brotli, zstd (if the system has libzstd) and gzip, kept in memory. Default: yes.
    /// </summary>
    public bool Compression { get; init; } = true;

    /// <summary>
    /// Whether a file that is requested by a name as <c>app.js.gz</c>, <c>.br</c> or <c>.zst</c> is sent with that Content-Encoding and the
    /// content type of <c>app.js</c>, so that browsers decode it: builds of Unity need that. Not archives. Default: no, it is a download.
    /// </summary>
    public bool CodedByName { get; init; }

    /// <summary>
    /// The memory for compressed variants, in bytes. Default 64 MiB, the text of a large site, or 1/32 of the memory available to the
    /// process if that is less.
    /// </summary>
    public long CompressedBytesTotalMax { get; init; } = CompressedBytesTotalDefault;

    /// <summary>
    /// Whether a file whose name has a content hash is sent to a client that has an earlier file of its family as the difference to that
    /// one (RFC 9842): only over HTTPS, only where everybody may read, and only if the system has libzstd. As <c>dcz</c>, and also as
    /// <c>dcb</c> if the system has libbrotli 1.1 or newer. Needs <see cref="Compression"/>. Default: no, as it takes processor time and
    /// space for files of earlier deployments.
    /// </summary>
    public bool Dictionaries { get; init; }

    /// <summary>
    /// Whether a dictionary is made of what the HTML pages have in common, which browsers fetch when they are idle and later pages are
    /// coded with, in the way of <see cref="Dictionaries"/>. Default: no. The dictionary is public and contains text of the pages: leave it
    /// off if something before the site decides who may see which page. It is not made for a site with rules about access.
    /// </summary>
    public bool PageDictionary { get; init; }

    /// <summary>
    /// The folder for files of earlier deployments, which are dictionaries after a restart, too. Default (null): memory, until the process
    /// ends.
    /// </summary>
    public string? DictionaryDirectory { get; init; }

    /// <summary>How many earlier versions of a file are dictionaries. Default 3.</summary>
    public int DictionaryVersions { get; init; } = 3;

    /// <summary>The size of <see cref="DictionaryDirectory"/>, in bytes; in memory at most 32 MiB. Default 256 MiB.</summary>
    public long DictionaryStoreBytesMax { get; init; } = 256L * 1024 * 1024;

    /// <summary>The memory for files coded with dictionaries, in bytes. Default 16 MiB, or 1/64 of the available memory if less.</summary>
    public long DictionaryBytesTotalMax { get; init; } = DictionaryBytesTotalDefault;

    /// <summary>
    /// The largest file that is coded with a dictionary, in bytes, 8 MiB at most. Coding takes up to 20 times its memory for a while.
    /// Default 4 MiB.
    /// </summary>
    public int DictionaryFileBytesMax { get; init; } = 4 * 1024 * 1024;

    /// <summary>The share of one processor that coding with dictionaries takes at most, in percent. Default 25.</summary>
    public int DictionaryProcessorPercent { get; init; } = 25;

    /// <summary>Whether anything happens between requests. Default: yes; a check of a configuration only looks.</summary>
    internal bool WorksInBackground { get; init; } = true;

    /// <summary>How file changes are detected. Default: by inotify where it works.</summary>
    public WatchMode Watch { get; init; }

    /// <summary>
    /// The largest file kept in memory, in bytes. Default 1 MiB: sending from memory is cheapest at every size up to that, and larger files
    /// would soon fill the memory.
    /// </summary>
    public int CacheFileBytesMax { get; init; } = 1024 * 1024;

    /// <summary>
    /// The memory for all files kept in memory, in bytes. Default (null): 256 MiB, or a tenth of the memory available to the process (its
    /// container's limit) if that is less. During a reload, and while a slow client holds the previous version, up to twice as much is
    /// used, never more.
    /// </summary>
    public long? CacheBytesMax { get; init; }

    /// <summary>
    /// The largest file whose body is read at once and sent after its head, in bytes. Default 256 KiB, which fits in a socket's send
    /// buffer; larger files are streamed in chunks.
    /// </summary>
    public int ReadBytesMax { get; init; } = 256 * 1024;

    /// <summary>
    /// Whether streamed files, except their ends, may be sent by reference if the connection allows it. Default true. Turn it off if files
    /// are overwritten in place while clients on the same machine pass on what they receive without reading it (splice). No effect over
    /// Kestrel, which sees every byte.
    /// </summary>
    public bool SendFile { get; init; } = true;

    /// <summary>
    /// The bytes read at start to derive entity tags from file content, smallest files first. Default 4 GiB: seconds on a fast disk. Beyond
    /// that limit, and for files larger than those kept in memory or read at once, a tag derives from size and modification time, which
    /// differ between replicas.
    /// </summary>
    public long HashedBytesTotalMax { get; init; } = 4L * 1024 * 1024 * 1024;

    /// <summary>
    /// The descriptors held open for files, including in-memory files of 64 KiB and more. Default (null): half of the process's limit
    /// (RLIMIT_NOFILE); the other half is for connections. One version of the site takes at most half of it, so that the next version has
    /// its share while the previous one is still being sent. Files beyond the limit are opened per request, and in-memory files are copied
    /// when sent.
    /// </summary>
    public int? DescriptorsMax { get; init; }

    /// <summary>
    /// The most directory entries a scan may meet. Default 2,000,000. Symlinks between directories can give a small tree a huge number of
    /// paths; the scan then ends with an error instead of exhausting memory.
    /// </summary>
    public int EntriesMax { get; init; } = 2_000_000;

    /// <summary>Throws if a value is not valid: at start, never per request.</summary>
    internal void Validate() => SiteOptionChecks.Check(this);

    /// <summary>The memory for the files of one version of the site.</summary>
    internal long ResolveCacheBytesMax()
    {
        const long DefaultMax = 256L * 1024 * 1024;
        const int MemoryFraction = 10;
        return CacheBytesMax ?? Math.Min(DefaultMax, ProcessMemory.Bytes / MemoryFraction);
    }

    /// <summary>The memory for compressed variants; the default shrinks if the process has little memory.</summary>
    internal long ResolveCompressedBytesTotalMax() => CompressedBytesTotalMax == CompressedBytesTotalDefault
        ? Math.Min(CompressedBytesTotalDefault, ProcessMemory.Bytes / 32)
        : CompressedBytesTotalMax;

    /// <summary>The memory for files coded with dictionaries; the default shrinks if the process has little memory.</summary>
    internal long ResolveDictionaryBytesTotalMax() => DictionaryBytesTotalMax == DictionaryBytesTotalDefault
        ? Math.Min(DictionaryBytesTotalDefault, ProcessMemory.Bytes / 64)
        : DictionaryBytesTotalMax;

    /// <summary>The descriptors for all live versions of the site together.</summary>
    internal int ResolveDescriptorsMax()
    {
        if (DescriptorsMax is int configured)
        {
            return configured;
        }

        int result = FileCalls.GetDescriptorLimit(out ResourceLimit limit);
        return result < 0 ? 0 : (int)Math.Min(limit.Soft / 2, int.MaxValue);
    }
}

/// <summary>The Cache-Control of files that match a pattern.</summary>
/// <param name="Pattern">
/// A path as <c>/assets/*</c>, or a name in any directory as <c>*.css</c>. <c>*</c> matches any bytes, slashes included; <c>?</c> one byte
/// except '/'; <c>:name</c> the remaining part of a segment. Literal ones are written %2A, %3F, %3A.
/// </param>
/// <param name="Value">The field's value, as <c>public, max-age=3600</c>.</param>
public sealed record CacheRule(string Pattern, string Value);

/// <summary>How files and directories whose name starts with a dot are treated.</summary>
public enum DotfilePolicy
{
    /// <summary>
    /// They are not found (a <c>.git</c> or <c>.env</c> left in a root is the classic leak), except <c>/.well-known/</c> in the root itself
    /// (RFC 8615).
    /// </summary>
    HiddenExceptWellKnown,

    /// <summary>They are served like any other file.</summary>
    Served,
}

/// <summary>The forms in which a directory can be downloaded as a whole.</summary>
[Flags]
public enum ArchiveFormats
{
    /// <summary>None.</summary>
    None = 0,

    /// <summary>A tar archive in gzip: <c>?archive=tar.gz</c>.</summary>
    TarGzip = 1,

    /// <summary>A zip archive: <c>?archive=zip</c>.</summary>
    Zip = 2,
}

/// <summary>A response field for paths that match a pattern.</summary>
/// <param name="Pattern">The paths: see <see cref="CacheRule"/>. <c>*</c> matches every path.</param>
/// <param name="Name">The field's name. Fields that the server itself controls (Content-Length, ETag and the like) are not allowed.</param>
/// <param name="Value">The field's value.</param>
public sealed record FieldRule(string Pattern, string Name, string Value);

/// <summary>The password file of the paths that match a pattern.</summary>
/// <param name="Pattern">The paths: see <see cref="CacheRule"/>.</param>
/// <param name="PasswordFile">An htpasswd file; null for paths that need no password.</param>
public sealed record PasswordRule(string Pattern, string? PasswordFile);

/// <summary>A set of clients for the paths that match a pattern.</summary>
/// <param name="Pattern">The paths: see <see cref="CacheRule"/>. <c>*</c> matches every path.</param>
/// <param name="Clients">
/// Networks and addresses, as <c>10.0.0.0/8</c> or <c>::1</c>; <c>all</c>; or <c>unix</c> for clients without an address, as over a unix
/// socket.
/// </param>
public sealed record ClientRule(string Pattern, IReadOnlyList<string> Clients);

/// <summary>How file changes are detected.</summary>
public enum WatchMode
{
    /// <summary>By inotify where it reports every change, otherwise by revalidation. The default.</summary>
    Auto,

    /// <summary>
    /// By inotify, on any file system. On one shared with other machines, their changes go unseen. If the kernel refuses more watches,
    /// revalidation is used.
    /// </summary>
    Inotify,

    /// <summary>By a stat of the file and its directory at each request.</summary>
    Revalidate,

    /// <summary>Not at all: changes show only after a reload.</summary>
    Off,
}

/// <summary>
/// Which origins' scripts may read the files of this site. Always without credentials: content that needs a cookie is not shared (Fetch
/// standard, section 3.3).
/// </summary>
public sealed record CorsOptions
{
    /// <summary>
    /// The allowed origins, as <c>https://app.example</c>; <c>*</c> alone allows any. Default: any, for files that everybody may fetch.
    /// </summary>
    public IReadOnlyList<string> Origins { get; init; } = ["*"];

    /// <summary>How long a browser may cache a preflight response, in seconds. Default 7200, the most that Chromium honours.</summary>
    public int MaxAgeSeconds { get; init; } = 7200;
}

/// <summary>Redirects requests, or with status 200, 404 or 410 rewrites them without the client seeing it.</summary>
/// <param name="From">
/// The paths to match: exact, with one <c>*</c> for any bytes, and with <c>:name</c> for the remaining part of a segment.
/// </param>
/// <param name="To">
/// The target: a path, or for redirects an http(s) URL. <c>:splat</c> inserts what <c>*</c> matched, <c>:name</c> what that placeholder
/// matched. Empty with 404 and 410 for the usual error page. A rewrite is applied once: its target is not rewritten again.
/// </param>
/// <param name="Status">301 (default), 302, 303, 307 or 308 to redirect; 200, 404 or 410 to respond with another file.</param>
public sealed record RedirectRule(string From, string To, int Status = 301)
{
    /// <summary>Whether the rule applies even if a file exists at that path. Default: no, an existing file is served.</summary>
    public bool Forced { get; init; }

    /// <summary>
    /// Query parameters that the request must have. They are not passed on; all others are, unless the target has a query. Default: none.
    /// </summary>
    public IReadOnlyList<QueryCondition> Query { get; init; } = [];
}

/// <summary>A query parameter that a <see cref="RedirectRule"/> requires.</summary>
/// <param name="Name">The parameter's name, not percent-encoded.</param>
/// <param name="Value">The required value, or <c>:name</c> for any value, which the rule's target can then use.</param>
public sealed record QueryCondition(string Name, string Value);
