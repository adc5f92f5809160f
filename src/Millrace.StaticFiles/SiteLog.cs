using System.Globalization;
using System.Text;
using Microsoft.Extensions.Logging;
using Millrace.Http;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Users;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Watching;

namespace Millrace.StaticFiles;

/// <summary>
/// Log lines of one site. Event ids are stable: 40x how changes are detected; 41x rescans for changes, which the watch reported or a check
/// before a request found; 42x configuration and files; 43x reloads, slow scans and maintenance; 44x archives of directories; 45x
/// dictionaries; 46x files that options name. Any thread.
/// </summary>
internal sealed partial class SiteLog(ILogger logger)
{
    private const int RuleEvent = 420;
    private const int SiblingEvent = 428;
    private const int MoreSiblingsEvent = 429;
    private const int ShownMax = 5;

    /// <summary>A few names suffice to recognise a folder that was copied with the wrong permissions.</summary>
    private const int NamedMax = 10;

    private readonly Lock _reportLock = new();
    private IReadOnlyList<string> _reported = [];
    private IReadOnlyList<string> _reportedPages = [];
    private RuleFileStates? _reportedOf;
    private HashSet<string> _reportedUnreadable = [];
    private readonly FailureLog _compressionFailures = new();
    private readonly FailureLog _dictionaryFailures = new();
    private readonly LogRateLimiter _archiveLines = new(burst: ShownMax);

    /// <summary>Whether an event is a mistake in the site's own files, which <c>millrace check</c> is for.</summary>
    public static bool MakesCheckFail(EventId logged) => logged.Id is RuleEvent or SiblingEvent or MoreSiblingsEvent;

    /// <summary>Logs rules that are not applied, once for as long as they stay the same.</summary>
    public void Report(string root, IReadOnlyList<string> warnings)
    {
        IReadOnlyList<string> reported = Interlocked.Exchange(ref _reported, warnings);
        if (!reported.SequenceEqual(warnings, StringComparer.Ordinal))
        {
            foreach (string warning in warnings)
            {
                RuleIgnored(Path.Combine(root, warning));
            }
        }
    }

    /// <summary>Logs pages that options name and the site does not have, each once for as long as it is missing.</summary>
    public void ReportMissingPages(string root, IReadOnlyList<(string Path, string Use)> missing)
    {
        string[] present = [.. missing.Select(static page => $"{page.Path} {page.Use}")];
        IReadOnlyList<string> reported = Interlocked.Exchange(ref _reportedPages, present);
        for (int i = 0; i < present.Length; i++)
        {
            if (!reported.Contains(present[i]))
            {
                PageMissing(root, missing[i].Path, missing[i].Use);
            }
        }
    }

    /// <summary>Logs a rule file that cannot be read, once for as long as its state stays the same.</summary>
    public void Report(string root, RuleFileStates? states)
    {
        lock (_reportLock)
        {
            if (states?.Refused is SkippedEntry refused && states != _reportedOf)
            {
                RuleFileRefused(refused.Path, root, refused.Reason);
            }

            _reportedOf = states;
        }
    }

    /// <summary>
    /// Logs files and directories that the server's user may not read, which otherwise are a silent 404: each once, and once more when it
    /// becomes readable. Covers the first hundred, because the catalog keeps no more.
    /// </summary>
    public void ReportUnreadable(string root, AssetCatalog catalog)
    {
        lock (_reportLock)
        {
            CatalogSnapshot current = catalog.Current;
            HashSet<string> unreadable = [.. current.Skipped.Where(IsUnreadable).Select(static entry => entry.Path)];
            string[] added = [.. unreadable.Except(_reportedUnreadable).Order(StringComparer.Ordinal)];
            string[] removed = [.. _reportedUnreadable.Except(unreadable).Order(StringComparer.Ordinal)];
            _reportedUnreadable = unreadable;
            foreach (string path in added.Take(NamedMax))
            {
                Unreadable(path, root, DescribeUser());
            }

            if (added.Length > NamedMax)
            {
                MoreUnreadable(added.Length - NamedMax, root, DescribeUser());
            }

            foreach (string path in removed.Where(path => current.HasReadable(path)).Take(NamedMax))
            {
                ReadableAgain(path, root);
            }
        }
    }

    /// <summary>Logs the other entries of the root that are not served; a link that leaves the root otherwise is a silent 404.</summary>
    public void ReportSkipped(string root, CatalogSnapshot snapshot)
    {
        SkippedEntry[] entries = [.. snapshot.Skipped.Where(static entry => !IsUnreadable(entry))];
        int count = snapshot.SkippedCount - (snapshot.Skipped.Count - entries.Length);
        if (count > 0 && entries.Length > 0)
        {
            string shown = string.Join(", ", entries.Take(ShownMax).Select(static entry => $"{entry.Path} ({entry.Reason.Describe()})"));
            EntriesSkipped(root, count > ShownMax ? $"{shown} and {count - ShownMax} more" : shown);
        }
    }

    /// <summary>Logs coded files that are not sent for their originals.</summary>
    public void ReportRefused(string root, IReadOnlyList<Sibling> siblings)
    {
        foreach (Sibling sibling in siblings.Take(NamedMax))
        {
            SiblingRefused(
                sibling.File.SitePath.ToText(), root, Describe(sibling), sibling.Variant.Original!.SitePath.ToText());
        }

        if (siblings.Count > NamedMax)
        {
            MoreSiblingsRefused(siblings.Count - NamedMax, root);
        }
    }

    /// <summary>Logs that a maintenance has begun or ended.</summary>
    public void ReportMaintenance(string root, bool hasBegun, string file)
    {
        if (hasBegun)
        {
            MaintenanceBegun(root, file);
        }
        else
        {
            MaintenanceEnded(root);
        }
    }

    /// <summary>Logs an error of background compression, once for as long as the same recurs.</summary>
    public void ReportCompressionFailure(Exception error)
    {
        if (_compressionFailures.ShouldLogFailure(error.Message, Environment.TickCount64))
        {
            try
            {
                CompressionFailed(error);
            }
#pragma warning disable CA1031 // A logger that throws loses its line, and does not end the thread that compresses.
            catch (Exception)
#pragma warning restore CA1031
            {
                // There is nowhere to report it.
            }
        }
    }

    /// <summary>Notes that all files are compressed: the next failure is logged, also one that was logged before.</summary>
    public void ReportCompressionSuccess() => _ = _compressionFailures.ShouldLogRecovery();

    /// <summary>Logs that nothing is coded with dictionaries; false if there is no problem.</summary>
    public bool ReportNoDictionaries(string root, string? problem)
    {
        if (problem is not null)
        {
            NoDictionaries(root, problem);
        }

        return problem is not null;
    }

    /// <summary>Logs an error of the folder for dictionaries, once for as long as the same recurs.</summary>
    public void ReportDictionaryFolder(string folder, Exception error)
    {
        if (_dictionaryFailures.ShouldLogFailure($"{error.GetType().Name} {error.HResult}", Environment.TickCount64))
        {
            DictionaryFolderFailed(folder, FileProblem.Of(folder, error));
        }
    }

    /// <summary>Notes that the folder for dictionaries is written: the next error is logged, also one that was logged before.</summary>
    public void ReportDictionaryFolderSuccess() => _ = _dictionaryFailures.ShouldLogRecovery();

    /// <summary>Logs that an archive of a directory was cut, because of a file.</summary>
    public void ReportArchiveCut(string root, SitePath file, string reason)
    {
        if (_archiveLines.Admits(Environment.TickCount64))
        {
            ArchiveCut(root, file.ToText(), reason);
        }
    }

    /// <summary>Logs that an archive of a directory lacks a file that was deleted before it was read.</summary>
    public void ReportArchiveEntryLeftOut(string root, SitePath file)
    {
        if (_archiveLines.Admits(Environment.TickCount64))
        {
            ArchiveEntryLeftOut(root, file.ToText());
        }
    }

    [LoggerMessage(400, LogLevel.Debug, "Watching {Directories} directories of {Root} with {Watches} inotify watches.")]
    public partial void WatchStarted(string root, int directories, int watches);

    [LoggerMessage(401, LogLevel.Warning,
        "No more inotify watches are available (ENOSPC): files of {Root} are checked at each request until a restart. "
        + "Raise fs.inotify.max_user_watches.")]
    public partial void OutOfWatches(string root);

    [LoggerMessage(402, LogLevel.Warning,
        "No more inotify instances are available (EMFILE): files of {Root} are checked at each request until a restart. "
        + "Raise fs.inotify.max_user_instances.")]
    public partial void OutOfInstances(string root);

    [LoggerMessage(403, LogLevel.Information,
        "{Root} is on {FileSystem}, where inotify does not report all changes: its files are checked at each request.")]
    public partial void FileSystemUnreported(string root, string fileSystem);

    [LoggerMessage(404, LogLevel.Warning,
        "{Root} cannot be watched ({Reason}): its files are checked at each request until a restart.")]
    public partial void CannotWatch(string root, string reason);

    [LoggerMessage(405, LogLevel.Error,
        "The watch of {Root} failed: its files are checked at each request until a restart.")]
    public partial void WatchFailed(string root, Exception error);

    [LoggerMessage(406, LogLevel.Debug, "A directory above {Root} cannot be watched; the root's path is checked every {IntervalMs} ms.")]
    public partial void PollsRoot(string root, int intervalMs);

    [LoggerMessage(410, LogLevel.Warning,
        "The inotify queue overflowed (fs.inotify.max_queued_events), as files of {Root} changed faster than they were read: "
        + "rescanning the whole site.")]
    public partial void QueueOverflowed(string root);

    [LoggerMessage(411, LogLevel.Error, "Rescan of {Root} failed; keeping the previous files until one succeeds. {Cause}")]
    public partial void RescanRefused(string root, string cause);

    [LoggerMessage(412, LogLevel.Error, "Rescan of {Root} failed unexpectedly; keeping the previous files until one succeeds.")]
    public partial void RescanFailed(string root, Exception error);

    [LoggerMessage(413, LogLevel.Information, "Rescan of {Root} succeeded again.")]
    public partial void RescanRecovered(string root);

    [LoggerMessage(RuleEvent, LogLevel.Warning, "Ignored: {Rule}")]
    public partial void RuleIgnored(string rule);

    [LoggerMessage(421, LogLevel.Error, "The password file was not reloaded; its previous users stay valid. {Cause}")]
    public partial void PasswordFileRefused(string cause);

    [LoggerMessage(422, LogLevel.Error,
        "Compression failed and is tried again at the next change; until then files may be served uncompressed.")]
    public partial void CompressionFailed(Exception error);

    [LoggerMessage(423, LogLevel.Warning, "Not served in {Root}: {Entries}.")]
    public partial void EntriesSkipped(string root, string entries);

    [LoggerMessage(424, LogLevel.Error, "{File} of {Root} cannot be read ({Reason}); keeping the previous rules.")]
    public partial void RuleFileRefused(string file, string root, SkipReason reason);

    [LoggerMessage(425, LogLevel.Warning,
        "{Path} of {Root} cannot be read by this server's user ({User}) and is answered with 404. Let that user read it: 'chmod o+r' for a "
        + "file, 'chmod o+rx' for a directory, or its owner or group.")]
    public partial void Unreadable(string path, string root, string user);

    [LoggerMessage(426, LogLevel.Warning, "{Count} more entries of {Root} cannot be read by this server's user ({User}).")]
    public partial void MoreUnreadable(int count, string root, string user);

    [LoggerMessage(427, LogLevel.Information, "{Path} of {Root} can be read again.")]
    public partial void ReadableAgain(string path, string root);

    [LoggerMessage(SiblingEvent, LogLevel.Warning,
        "{Path} of {Root} {Fault}, so it is not sent for {Original}. Delete it; 'millrace precompress' makes it again.")]
    public partial void SiblingRefused(string path, string root, string fault, string original);

    [LoggerMessage(MoreSiblingsEvent, LogLevel.Warning, "{Count} more compressed files of {Root} are not sent for their originals.")]
    public partial void MoreSiblingsRefused(int count, string root);

    [LoggerMessage(430, LogLevel.Information, "Reloaded {Root}: {Assets} files.")]
    public partial void Reloaded(string root, int assets);

    [LoggerMessage(431, LogLevel.Error, "Rescan of {Root} failed; keeping the previous files. {Cause}")]
    public partial void ReloadFailed(string root, string cause);

    [LoggerMessage(433, LogLevel.Warning,
        "Scanning {Root} has taken {Seconds} s and continues: now at {Path}, after {Entries} entries.")]
    public partial void SlowScan(string root, int seconds, string path, int entries);

    [LoggerMessage(434, LogLevel.Warning, "Maintenance of {Root} has begun: every request is answered with 503 while {File} exists.")]
    public partial void MaintenanceBegun(string root, string file);

    [LoggerMessage(435, LogLevel.Information, "Maintenance of {Root} has ended.")]
    public partial void MaintenanceEnded(string root);

    [LoggerMessage(440, LogLevel.Warning, "An archive of {Root} was cut at {File}: {Reason}.")]
    public partial void ArchiveCut(string root, string file, string reason);

    [LoggerMessage(441, LogLevel.Information, "An archive of {Root} lacks {File}, which was deleted before it was read.")]
    public partial void ArchiveEntryLeftOut(string root, string file);

    [LoggerMessage(442, LogLevel.Error, "An archive of {Root} failed unexpectedly and was cut.")]
    public partial void ArchiveFailed(string root, Exception error);

    [LoggerMessage(450, LogLevel.Warning,
        "No dictionaries for {Root}: {Problem}. Install libzstd 1.4.0 or newer (Debian: libzstd1).")]
    private partial void NoDictionaries(string root, string problem);

    [LoggerMessage(451, LogLevel.Warning,
        "Dictionaries cannot be kept in {Folder}: {Reason}. Name another folder with --dictionary-dir; until then they are in memory "
        + "only.")]
    private partial void DictionaryFolderFailed(string folder, string reason);

    [LoggerMessage(460, LogLevel.Warning, "{Root} has no page {Path}, which {Use} names: create it, or name another page.")]
    private partial void PageMissing(string root, string path, string use);

    [LoggerMessage(461, LogLevel.Warning,
        "The password file {File} has no users, so nobody is let in. Add one with 'htpasswd -B {File} USER'.")]
    public partial void NoUsers(string file);

    [LoggerMessage(462, LogLevel.Warning,
        "The folder of the maintenance file {File} does not exist: create it, or name a file in another folder.")]
    public partial void NoMaintenanceFolder(string file);

    [LoggerMessage(463, LogLevel.Warning,
        "The maintenance file {File} is in the root {Root}, so a deployment may create it: name a file outside of the root.")]
    public partial void MaintenanceFileInRoot(string file, string root);

    private static string Describe(Sibling sibling)
    {
        string coding = Encoding.ASCII.GetString(ContentCodings.NameOf(sibling.Variant.Coding));
        return sibling.Verdict switch
        {
            SiblingVerdict.Empty => "is empty",
            SiblingVerdict.Incomplete => "is cut",
            SiblingVerdict.Extended => $"has bytes after the end of its first {coding} stream, which clients ignore or refuse",
            SiblingVerdict.OtherContent => "decodes to other bytes than its original",
            SiblingVerdict.Undecodable => $"cannot be checked, as this system has no decoder for {coding}",
            _ => $"is not valid {coding}",
        };
    }

    private static bool IsUnreadable(SkippedEntry entry) => entry.Reason == SkipReason.Unreadable;

    /// <summary>The number of the user that this process reads files as, and its name if it has one on this machine.</summary>
    private static string DescribeUser()
    {
        string number = UserCalls.UserId.ToString(CultureInfo.InvariantCulture);
        return Environment.UserName is { Length: > 0 } name ? $"uid {number}, {name}" : $"uid {number}";
    }
}
