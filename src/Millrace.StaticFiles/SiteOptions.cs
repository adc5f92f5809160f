using Millrace.Interop.Files;
using Millrace.StaticFiles.Options;

namespace Millrace.StaticFiles;

/// <summary>What a site can be told. Immutable: a changed option is a new catalogue.</summary>
public sealed record SiteOptions
{
    /// <summary>
    /// The directory that is served. A symlink here is followed afresh at every reload, so that a release can be swapped.
    /// </summary>
    public required string Root { get; init; }

    /// <summary>
    /// The names that answer for a directory, the first that exists. Default: <c>index.html</c>, <c>index.htm</c>.
    /// </summary>
    public IReadOnlyList<string> IndexNames { get; init; } = ["index.html", "index.htm"];

    /// <summary>Whether names that start with a dot are served. Default: hidden, but for <c>/.well-known/</c>.</summary>
    public DotfilePolicy Dotfiles { get; init; }

    /// <summary>
    /// The page of a single-page application that answers, with status 200, for what is not found, if the path's last segment has no
    /// '.' or the client asks for HTML by name: a missing script must stay a 404. Default (null): none.
    /// </summary>
    public string? Fallback { get; init; }

    /// <summary>
    /// Whether <c>/about</c> is answered by <c>/about.html</c>, and the longer form redirected to it. Default: no, a path names
    /// its file.
    /// </summary>
    public bool CleanUrls { get; init; }

    /// <summary>
    /// The files that are the bodies of error answers, by status. One that does not exist is as if it were not named. Default:
    /// 404 by <c>/404.html</c>, as static site generators call it.
    /// </summary>
    public IReadOnlyDictionary<int, string> ErrorPages { get; init; } = new Dictionary<int, string> { [404] = "/404.html" };

    /// <summary>
    /// Whether a directory without index lists its files. Default: no, names that nothing links to should not be published
    /// by accident.
    /// </summary>
    public bool Listing { get; init; }

    /// <summary>
    /// Cache-Control by path; the first that matches decides. Default: none, then names with a content hash are immutable for a
    /// year and all others <c>no-cache</c>, which is stored but asked about, so that a changed file is seen at once.
    /// </summary>
    public IReadOnlyList<CacheRule> CacheControl { get; init; } = [];

    /// <summary>
    /// Response fields by path. A later rule replaces an earlier one's field of the same name, and all go before the site's own
    /// <c>_headers</c> file: who runs the server has the last word. Default: none.
    /// </summary>
    public IReadOnlyList<FieldRule> Fields { get; init; } = [];

    /// <summary>Which other sites' scripts may read the files. Default (null): none (RFC 6454's same origin).</summary>
    public CorsOptions? Cors { get; init; }

    /// <summary>
    /// Whether answers carry a preset of security fields, which rules may replace one by one. Default: no, some of them (no
    /// framing by others, no camera) would break sites that were made without them.
    /// </summary>
    public bool SecurityHeaders { get; init; }

    /// <summary>
    /// The charset that text types name; empty for none. Default <c>utf-8</c>: without one a browser guesses by locale.
    /// </summary>
    public string Charset { get; init; } = "utf-8";

    /// <summary>
    /// Content types by extension (without its dot, in lower case), before the built-in table. Default: none.
    /// </summary>
    public IReadOnlyDictionary<string, string> ContentTypes { get; init; } = new Dictionary<string, string>();

    /// <summary>
    /// Redirects and rewrites, the first that matches; before those of the site's own <c>_redirects</c> file. Default: none.
    /// </summary>
    public IReadOnlyList<RedirectRule> Redirects { get; init; } = [];

    /// <summary>
    /// Whether <c>_headers</c> and <c>_redirects</c> in the root are rules in the syntax of Netlify and Cloudflare, and not
    /// served. Default: yes, a site that was made for them works here too.
    /// </summary>
    public bool SiteFiles { get; init; } = true;

    /// <summary>
    /// An htpasswd file: whoever is not in it gets 401, for every path. Then <c>public</c> in the default Cache-Control becomes
    /// <c>private</c> (RFC 9111, section 3.5). Default (null): everybody may read.
    /// </summary>
    public string? PasswordFile { get; init; }

    /// <summary>What the browser names when it asks for a password. Default <c>Restricted</c>.</summary>
    public string Realm { get; init; } = "Restricted";

    /// <summary>
    /// Whether files that compress well, and have no <c>.br</c>, <c>.gz</c> or <c>.zst</c> beside them, are compressed by the
    /// server: each once, in the background, kept in memory. Default: yes.
    /// </summary>
    public bool Compression { get; init; } = true;

    /// <summary>The memory for what the server compressed, in bytes. Default 64 MiB: the text of a large site.</summary>
    public long CompressedBytesTotalMax { get; init; } = 64L * 1024 * 1024;

    /// <summary>How changes of files are noticed. Default: by inotify where it works.</summary>
    public WatchMode Watch { get; init; }

    /// <summary>
    /// The largest file kept in memory, in bytes. Default 1 MiB: what is kept costs least to send at every size up to there, and larger
    /// ones would soon fill the memory that there is.
    /// </summary>
    public int BakedBytesMax { get; init; } = 1024 * 1024;

    /// <summary>
    /// The memory for all files kept in memory, in bytes. Default (null): 256 MiB, or a quarter of what the process may have (its
    /// container's limit, as .NET sees it) where that is less. While a reload is being adopted, and for as long as a slow client holds the
    /// version before it, there may be twice as much, never more.
    /// </summary>
    public long? BakedBytesTotalMax { get; init; }

    /// <summary>
    /// The largest file whose body is read in one go and sent behind its head, in bytes. Default 256 KiB: what fits in
    /// a socket's send buffer; larger files are streamed in chunks.
    /// </summary>
    public int RingBytesMax { get; init; } = 256 * 1024;

    /// <summary>
    /// Whether streamed files may be sent by reference, all but their ends, where the way to the client lets them. Default true. Off where
    /// files are written over in place while clients of the same machine pass on what they receive without having read it (splice).
    /// Over Kestrel, which sees every byte, it changes nothing.
    /// </summary>
    public bool SendFile { get; init; } = true;

    /// <summary>
    /// What may be read of files at start to make their entity tags from their content, in bytes, the smallest files first.
    /// Default 4 GiB: seconds of a fast disk. Beyond, and for files larger than are kept in memory or read in one go, a tag comes from size
    /// and modification time, which differ between replicas.
    /// </summary>
    public long HashedBytesTotalMax { get; init; } = 4L * 1024 * 1024 * 1024;

    /// <summary>
    /// The descriptors held open for files, and for what is kept in memory of those from 64 KiB on. Default (null): half of the process's
    /// limit (RLIMIT_NOFILE), the other half is for connections. One version of the site takes at most half of it, so that the
    /// next one finds its share while the one before is still being sent. Files beyond are opened per request, and what is kept is
    /// copied.
    /// </summary>
    public int? DescriptorsMax { get; init; }

    /// <summary>
    /// The directory entries a walk may meet. Default 2,000,000. Symlinks between directories can make the paths of
    /// a small tree innumerable; the walk then ends with an error in place of the machine's memory.
    /// </summary>
    public int EntriesMax { get; init; } = 2_000_000;

    /// <summary>Throws where a value makes no sense: at start, never per request.</summary>
    internal void Validate() => SiteOptionChecks.Check(this);

    /// <summary>The memory for the files of one version of the site.</summary>
    internal long ResolveBakedBytesTotalMax()
    {
        const long Enough = 256L * 1024 * 1024;
        const int Share = 4;
        return BakedBytesTotalMax ?? Math.Min(Enough, GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / Share);
    }

    /// <summary>The descriptors for all living versions of the site together.</summary>
    internal int ResolveDescriptorsMax()
    {
        if (DescriptorsMax is int told)
        {
            return told;
        }

        int result = FileCalls.GetDescriptorLimit(out ResourceLimit limit);
        return result < 0 ? 0 : (int)Math.Min(limit.Soft / 2, int.MaxValue);
    }
}
