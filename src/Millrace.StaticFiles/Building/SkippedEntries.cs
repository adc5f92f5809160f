using System.Text;
using Millrace.Interop;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>Collects what a build skips: counts all, remembers the first hundred (a log, not a second catalogue).</summary>
internal sealed class SkippedEntries
{
    public const int KeptMax = 100;

    private readonly List<SkippedEntry> _kept = [];

    public int Count { get; private set; }

    public IReadOnlyList<SkippedEntry> Kept => _kept;

    /// <summary>Notes an entry the kernel refused.</summary>
    public void Note(ReadOnlySpan<byte> path, int error)
    {
        ThrowIfExhausted(error);
        Note(path, ReasonFor(error), error);
    }

    public void Note(ReadOnlySpan<byte> path, SkipReason reason, int error = 0)
    {
        Count++;
        if (_kept.Count < KeptMax)
        {
            _kept.Add(new SkippedEntry(Encoding.UTF8.GetString(path), reason, error));
        }
    }

    private static SkipReason ReasonFor(int error) => error switch
    {
        Errno.EACCES or Errno.EPERM => SkipReason.Unreadable,
        Errno.EXDEV => SkipReason.OutsideRoot,
        Errno.ENOENT or Errno.ENOTDIR => SkipReason.Missing,
        Errno.ELOOP => SkipReason.SymlinkLoop,
        Errno.ENXIO or Errno.EISDIR => SkipReason.NotRegular,
        Errno.ENAMETOOLONG => SkipReason.PathTooLong,
        _ => SkipReason.IoError,
    };

    /// <summary>Errors of the process, not of the file: a site with holes where they struck would be worse than the site before.</summary>
    private static void ThrowIfExhausted(int error)
    {
        switch (error)
        {
            case Errno.EMFILE:
                throw new SiteException(
                    "The process has no descriptors left to read the site (EMFILE).", "Raise its limit (ulimit -n, LimitNOFILE=).");
            case Errno.ENFILE:
                throw new SiteException(
                    "The machine has no descriptors left to read the site (ENFILE).", "Raise fs.file-max or close programs.");
            case Errno.ENOMEM:
                throw new SiteException("The kernel has no memory left to read the site (ENOMEM).", "Free memory or serve less.");
            default:
                break;
        }
    }
}
