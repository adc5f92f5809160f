using Millrace.Interop.Files;

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
    /// The largest file kept in memory, in bytes. Default 64 KiB: up to there reading the file costs a good part of
    /// answering at all; above it, sending dominates and the page cache serves as well.
    /// </summary>
    public int BakedBytesMax { get; init; } = 64 * 1024;

    /// <summary>
    /// The memory for all files kept in memory, in bytes. Default 256 MiB. While a reload is being adopted, and for as long as a
    /// slow client holds the version before it, there may be twice as much, never more.
    /// </summary>
    public long BakedBytesTotalMax { get; init; } = 256L * 1024 * 1024;

    /// <summary>
    /// The largest file whose body is read in one go and sent behind its head, in bytes. Default 256 KiB: what fits in
    /// a socket's send buffer; larger files are streamed in chunks.
    /// </summary>
    public int RingBytesMax { get; init; } = 256 * 1024;

    /// <summary>
    /// The descriptors held open for files that are not in memory. Default (null): half of the process's limit
    /// (RLIMIT_NOFILE), the other half is for connections. One version of the site takes at most half of it, so that the
    /// next one finds its share while the one before is still being sent. Files beyond are opened per request.
    /// </summary>
    public int? DescriptorsMax { get; init; }

    /// <summary>
    /// The directory entries a walk may meet. Default 2,000,000. Symlinks between directories can make the paths of
    /// a small tree innumerable; the walk then ends with an error in place of the machine's memory.
    /// </summary>
    public int EntriesMax { get; init; } = 2_000_000;

    /// <summary>
    /// Whether the files <c>_headers</c> and <c>_redirects</c> in the root are the site's rules, and not served. Default: they are.
    /// </summary>
    public bool SiteFiles { get; init; } = true;

    /// <summary>
    /// What is read at most of files that are not kept in memory, to make entity-tags of their content, in bytes. Default 4 GiB, some
    /// seconds of reading; the smallest first. Beyond, tags are made of size and time.
    /// </summary>
    public long HashedBytesTotalMax { get; init; } = 4L * 1024 * 1024 * 1024;

    /// <summary>Whether files are compressed in the background. Default: they are.</summary>
    public bool Compression { get; init; } = true;

    /// <summary>The memory for compressed bodies, in bytes. Default 64 MiB.</summary>
    public long CompressedBytesTotalMax { get; init; } = 64L * 1024 * 1024;

    /// <summary>Content types by extension, without its dot, in place of or besides those that are known. Default: none.</summary>
    public IReadOnlyDictionary<string, string> ContentTypes { get; init; } = new Dictionary<string, string>();

    /// <summary>The charset that text is said to be in; empty to say none. Default: utf-8.</summary>
    public string Charset { get; init; } = "utf-8";

    /// <summary>Throws where a value makes no sense: at start, never per request.</summary>
    internal void Validate()
    {
        Require(!string.IsNullOrEmpty(Root), "The root is empty.", "Name the directory to serve.");
        Require(!Root.Contains('\0', StringComparison.Ordinal), "The root's path holds a zero byte.", "Name the directory to serve.");
        RequireNotNegative(BakedBytesMax, nameof(BakedBytesMax));
        RequireNotNegative(BakedBytesTotalMax, nameof(BakedBytesTotalMax));
        RequireNotNegative(RingBytesMax, nameof(RingBytesMax));
        RequireNotNegative(DescriptorsMax ?? 0, nameof(DescriptorsMax));
        RequireNotNegative(EntriesMax, nameof(EntriesMax));
        RequireNotNegative(HashedBytesTotalMax, nameof(HashedBytesTotalMax));
        RequireNotNegative(CompressedBytesTotalMax, nameof(CompressedBytesTotalMax));
        foreach (string name in IndexNames)
        {
            bool isFileName = name.Length > 0 && name.AsSpan().IndexOfAny('/', '\0') < 0;
            Require(isFileName, $"'{name}' cannot be an index name.", "Give plain file names.");
        }
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

    private static void RequireNotNegative(long value, string name) =>
        Require(value >= 0, $"{name} is {value}.", "Give zero or more.");

    private static void Require(bool holds, string cause, string remedy)
    {
        if (!holds)
        {
            throw new SiteException(cause, remedy);
        }
    }
}
