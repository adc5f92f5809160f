namespace Millrace.StaticFiles.Snapshots;

/// <summary>The entries that a snapshot skipped, for the log: at most a hundred, those that lack permissions first. Immutable.</summary>
internal sealed class SkippedLog((SitePath Directory, SkippedEntry Entry)[] kept)
{
    public const int KeptMax = 100;

    public static readonly SkippedLog Empty = new([]);

    private readonly (SitePath Directory, SkippedEntry Entry)[] _kept = kept;

    public IReadOnlyList<SkippedEntry> Entries { get; } = [.. kept.Select(static item => item.Entry)];

    /// <summary>The log without the entries of some directories, and with newly noted entries.</summary>
    public SkippedLog With(IReadOnlyCollection<(SitePath Directory, SkippedEntry Entry)> noted, Func<SitePath, bool> isOutdated) =>
        new([.. _kept.Where(item => !isOutdated(item.Directory)).Concat(noted)
            .OrderBy(static item => item.Entry.Reason == SkipReason.Unreadable ? 0 : 1).Take(KeptMax)]);

    /// <summary>Whether another log has the same entries, in any order.</summary>
    public bool IsSameAs(SkippedLog other) =>
        _kept.Length == other._kept.Length && _kept.ToHashSet().SetEquals(other._kept);
}

/// <summary>Why an entry of the root is not served, or not as usual.</summary>
internal enum SkipReason
{
    /// <summary>EACCES or EPERM: this process may not read it.</summary>
    Unreadable,

    /// <summary>
    /// EXDEV: a symlink that leaves the root. An absolute target counts as one even if it points back inside: make it relative.
    /// </summary>
    OutsideRoot,

    /// <summary>ENOENT or ENOTDIR: a dangling symlink, or a file that vanished during the scan.</summary>
    Missing,

    /// <summary>ELOOP: symlinks that only lead to each other.</summary>
    SymlinkLoop,

    /// <summary>A symlink to a directory that contains it: its paths would never end.</summary>
    DirectoryCycle,

    /// <summary>A FIFO, a socket or a device: opening it could block or have side effects.</summary>
    NotRegular,

    /// <summary>Longer than the kernel takes in one call (PATH_MAX).</summary>
    PathTooLong,

    /// <summary>A rule file larger than allowed. The previous rules stay.</summary>
    TooLarge,

    /// <summary>It changed during each read, so it is not kept in memory but read per request.</summary>
    ChangedDuringRead,

    /// <summary>A private file of the server: a key, a password file, its configuration or log, or a coded copy of one.</summary>
    Private,

    /// <summary>Its size differs from the reported one, and its content exceeds the limit for such files.</summary>
    SizeUntrue,

    /// <summary>Any other file system error.</summary>
    IoError,
}

/// <summary>An entry that is not served, for the log.</summary>
internal readonly record struct SkippedEntry(string Path, SkipReason Reason, int Error);
