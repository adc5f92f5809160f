using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>Collects the entries that a build skips: counts all by directory, and keeps a hundred for the log.</summary>
internal sealed class SkippedEntries
{
    public const int KeptMax = 100;

    private readonly List<SkippedEntry> _kept = [];

    /// <summary>Counts noted entries, those without permission separately, so that a hundred others do not hide them.</summary>
    private readonly int[] _notedCounts = new int[2];

    /// <summary>
    /// The entries of the next snapshot, those that lack permissions first: the noted ones, and the previous snapshot's of other
    /// directories than outdated ones.
    /// </summary>
    public SkippedEntry[] After(IEnumerable<SkippedEntry> previous, Func<SitePath, bool> isOutdated) =>
        [.. previous.Where(entry => !isOutdated(entry.Directory)).Concat(_kept)
            .OrderBy(static entry => entry.Reason == SkipReason.Unreadable ? 0 : 1).Take(KeptMax)];

    /// <summary>Notes an entry that the kernel refused with <paramref name="error"/>.</summary>
    public void Note(ListedDirectory directory, SitePath path, int error)
    {
        ThrowIfExhausted(error);
        Note(directory, path, ReasonFor(error), error);
    }

    public void Note(ListedDirectory directory, SitePath path, SkipReason reason, int error = 0)
    {
        directory.SkippedCount++;
        bool isDirectoryItself = path.Equals(directory.Path);
        bool isTransient = reason is not (
            SkipReason.DirectoryCycle or SkipReason.TooLarge or SkipReason.ChangedDuringRead or SkipReason.Private
            or SkipReason.SizeUntrue);
        if (!isDirectoryItself && isTransient)
        {
            directory.Unserved.Add(path);
        }

        int kind = reason == SkipReason.Unreadable ? 1 : 0;
        if (_notedCounts[kind]++ < KeptMax)
        {
            _kept.Add(new SkippedEntry(directory.Path, path.ToText(), reason, error));
        }
    }

    public static SkipReason ReasonFor(int error) => error switch
    {
        Errno.EACCES or Errno.EPERM => SkipReason.Unreadable,
        Errno.EXDEV => SkipReason.OutsideRoot,
        Errno.ENOENT or Errno.ENOTDIR => SkipReason.Missing,
        Errno.ELOOP => SkipReason.SymlinkLoop,
        Errno.ENXIO or Errno.EISDIR => SkipReason.NotRegular,
        Errno.ENAMETOOLONG => SkipReason.PathTooLong,
        _ => SkipReason.IoError,
    };

    /// <summary>Throws for errors of the process or machine: a site with random holes would be worse than the previous snapshot.</summary>
    public static void ThrowIfExhausted(int error)
    {
        switch (error)
        {
            case Errno.EMFILE or Errno.ENFILE:
                throw new SiteException($"The site cannot be read: {Errno.Describe(error)}.", FileProblem.RemedyOf(error, ""))
                {
                    IsMistake = false,
                };
            case Errno.ENOMEM:
                throw new SiteException("The kernel has no memory left to read the site (ENOMEM).", "Free memory or serve less.")
                {
                    IsMistake = false,
                };
            default:
                break;
        }
    }
}
