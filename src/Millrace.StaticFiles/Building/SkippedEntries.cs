using System.Text;
using Millrace.Interop;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>Collects what a build skips, by the directory it was met in: counts all, remembers as many as a log keeps.</summary>
internal sealed class SkippedEntries
{
    private readonly List<(SitePath Directory, SkippedEntry Entry)> _kept = [];

    public IReadOnlyCollection<(SitePath Directory, SkippedEntry Entry)> Kept => _kept;

    /// <summary>Notes an entry the kernel refused.</summary>
    public void Note(ListedDirectory directory, ReadOnlySpan<byte> path, int error)
    {
        ThrowIfExhausted(error);
        Note(directory, path, ReasonFor(error), error);
    }

    public void Note(ListedDirectory directory, ReadOnlySpan<byte> path, SkipReason reason, int error = 0)
    {
        directory.SkippedCount++;
        bool isItsOwn = path.SequenceEqual(directory.Path.Bytes);
        if (!isItsOwn && reason is not (SkipReason.DirectoryCycle or SkipReason.TooLarge or SkipReason.KeptChanging))
        {
            directory.Unserved.Add(SitePath.Of(path));
        }

        if (_kept.Count < SkippedLog.KeptMax)
        {
            string text = path.IsEmpty ? "/" : Encoding.UTF8.GetString(path);
            _kept.Add((directory.Path, new SkippedEntry(text, reason, error)));
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

    /// <summary>Errors of the process, not of the file: a site with holes where they struck would be worse than the site before.</summary>
    public static void ThrowIfExhausted(int error)
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
