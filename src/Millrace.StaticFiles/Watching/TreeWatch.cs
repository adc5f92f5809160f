using System.Diagnostics;
using Millrace.Interop;
using Millrace.Interop.Threads;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Keeps a catalog up to date with its files. It observes every directory and symlink before the catalog reads it, watches them by inotify,
/// and on its own thread has the catalog rescan what changed: visible within 100 ms, if reading takes no longer.
/// </summary>
/// <remarks>
/// <para>Opened before the catalog, which receives it as its observer; started with the catalog; disposed before it. The lock guards
/// bookkeeping only and is never held while the catalog is called, because a thread that holds the catalog's lock may call in.</para>
/// <para>Inotify does not report a write through another hard link of a file, nor a mount over a directory.</para>
/// </remarks>
internal sealed class TreeWatch(string root, WatchMode mode, SiteLog log, IWatchSource? source) : IDirectoryObserver, IDisposable
{
    private const int RecordsBytes = 64 * 1024;

    /// <summary>Nine times a reactor's share if both want the same processor.</summary>
    private const int Niceness = -10;

    /// <summary>A record with a name of 255 bytes and padding. Less free space in the buffer means that more may be queued.</summary>
    private const int LongestRecordBytes = 16 + 256;

    private readonly Lock _lock = new();
    private readonly ChangeBatch _batch = new();
    private volatile WatchMode _mode = mode == WatchMode.Auto ? WatchMode.Inotify : mode;

    /// <summary>
    /// Null if nothing is watched (any more). Disposed by the thread, or before that is started by the method that sets it to null.
    /// </summary>
    private SiteWatch? _site = source is null ? null : new SiteWatch(root, mode, source);
    private Thread? _thread;

    /// <summary>How changes are detected now, never <see cref="WatchMode.Auto"/>. Inotify can become Revalidate, which is final.</summary>
    public WatchMode Mode => _mode;

    /// <summary>The inotify watches held.</summary>
    public int WatchCount
    {
        get
        {
            lock (_lock)
            {
                return _site?.Table.WatchCount ?? 0;
            }
        }
    }

    /// <summary>
    /// Prepares to watch a site, by inotify or a given source, which it then owns. Never fails: without an inotify instance it uses
    /// revalidation.
    /// </summary>
    public static TreeWatch Open(string root, WatchMode mode, SiteLog log, IWatchSource? source = null)
    {
        if (source is not null || mode is WatchMode.Revalidate or WatchMode.Off)
        {
            return new TreeWatch(root, mode, log, source);
        }

        int result = Inotify.TryCreate(out Inotify? inotify, out bool lacksInstances);
        if (lacksInstances)
        {
            log.OutOfInstances(root);
        }
        else if (result < 0)
        {
            log.CannotWatch(root, ReasonOf(result));
        }

        return new TreeWatch(root, inotify is null ? WatchMode.Revalidate : mode, log, inotify);
    }

    /// <summary>Starts to refresh a catalog, which has scanned its site, with all changes since that scan began.</summary>
    public void Start(IRefreshable catalog)
    {
        lock (_lock)
        {
            Debug.Assert(_thread is null, "a watch is started once");
            if (_site is SiteWatch site)
            {
                site.Table.Sweep();
                log.WatchStarted(root, site.Table.DirectoryCount, site.Table.WatchCount);
                if (site.MustPollRoot)
                {
                    log.PollsRoot(root, RootPathWatch.PollIntervalMs);
                }

                _thread = new Thread(() => Run(site, catalog)) { IsBackground = true, Name = "millrace-watch" };
                _thread.Start();
            }
        }
    }

    /// <inheritdoc/>
    public void Entering(int directoryFd, ReadOnlySpan<byte> path, in FileState state)
    {
        WatchRefusal? refusal;
        lock (_lock)
        {
            _site?.Enter(directoryFd, path, state, _batch, NowMs());
            refusal = GiveUpIfRefused();
        }

        Log(refusal);
    }

    /// <inheritdoc/>
    public void Keeping(ReadOnlySpan<byte> path)
    {
        lock (_lock)
        {
            _site?.Table.Keep(path);
        }
    }

    /// <inheritdoc/>
    public void MetSymlink(ReadOnlySpan<byte> path)
    {
        WatchRefusal? refusal;
        lock (_lock)
        {
            _site?.MeetSymlink(path);
            refusal = GiveUpIfRefused();
        }

        Log(refusal);
    }

    /// <inheritdoc/>
    public void Left(ReadOnlySpan<byte> path)
    {
        lock (_lock)
        {
            _site?.Table.Leave(path);
        }
    }

    /// <summary>Ends the watch and waits for its thread, including a refresh in progress.</summary>
    public void Dispose()
    {
        Thread? thread;
        lock (_lock)
        {
            EndWatching();
            thread = _thread;
        }

        // Disposed from within a refresh, which runs on that thread.
        if (thread is not null && thread != Thread.CurrentThread)
        {
            thread.Join();
        }
    }

    private static long NowMs() => (long)Stopwatch.GetElapsedTime(0).TotalMilliseconds;

    private void Run(SiteWatch site, IRefreshable catalog)
    {
        // It works for milliseconds, and changes should not wait for a busy machine. Without the right (CAP_SYS_NICE) it keeps the default
        // niceness.
        _ = ThreadCalls.SetNiceness(Niceness);
        var refresher = new Refresher(catalog, root, log);
        try
        {
            byte[] records = new byte[RecordsBytes];
            while (TryAwaitChanges(site, records, out DirectoryChange[]? changes))
            {
                long beganAtMs = NowMs();
                EndRefresh(changes, refresher.TryRead(changes), beganAtMs);
            }
        }
#pragma warning disable CA1031 // It ends the thread and is logged. Files are then compared at each request.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _mode = WatchMode.Revalidate;
            log.WatchFailed(root, error);
        }

        lock (_lock)
        {
            _site = null;
            site.Dispose();
        }
    }

    /// <summary>Waits until changes, or the whole site (null), are to be read. False when the watch ended.</summary>
    private bool TryAwaitChanges(SiteWatch site, byte[] records, out DirectoryChange[]? changes)
    {
        changes = null;
        while (true)
        {
            AwaitRecords(site);
            int recordBytes = site.Source.Read(records);
            bool hasOverflowed;
            bool isDue;
            lock (_lock)
            {
                if (_site is null)
                {
                    return false;
                }

                hasOverflowed = site.Collect(records.AsSpan(0, recordBytes), _batch, NowMs());
                // Takes all queued records first, so that one refresh covers them and an overflow is seen before reads that it would make
                // useless. Two thousand records take less than a millisecond, so no writer keeps the queue full.
                isDue = recordBytes <= RecordsBytes - LongestRecordBytes && _batch.DelayMs(NowMs()) == 0;
                changes = isDue ? _batch.Take() : null;
                if (isDue)
                {
                    site.BeginRead(changes);
                }
            }

            if (hasOverflowed)
            {
                log.QueueOverflowed(root);
            }

            if (isDue)
            {
                return true;
            }
        }
    }

    private void AwaitRecords(SiteWatch site)
    {
        int delayMs;
        int timeoutMs;
        lock (_lock)
        {
            delayMs = _batch.DelayMs(NowMs());
            timeoutMs = site.MustPollRoot ? RootPathWatch.PollIntervalMs : -1;
        }

        if (delayMs < 0)
        {
            site.Source.Wait(timeoutMs);
        }
        else if (delayMs > 0)
        {
            // Waits for the time, not for the next record: a log can cause a hundred thousand records a second.
            site.Source.Pause(Math.Min(delayMs, ChangeBatch.QuietMs));
        }
    }

    private void EndRefresh(DirectoryChange[]? changes, bool isRead, long beganAtMs)
    {
        lock (_lock)
        {
            if (!isRead)
            {
                _batch.Failed(beganAtMs, NowMs());
                return;
            }

            _batch.Succeeded(beganAtMs, NowMs());
            _site?.Table.EndRead(changes);
        }
    }

    /// <summary>
    /// Call with the lock held. A site that cannot be watched completely is not watched at all, and its kernel watches are released.
    /// </summary>
    private WatchRefusal? GiveUpIfRefused()
    {
        if (_site?.Table.Refusal is not WatchRefusal refusal)
        {
            return null;
        }

        _mode = WatchMode.Revalidate;
        EndWatching();
        return refusal;
    }

    /// <summary>Call with the lock held.</summary>
    private void EndWatching()
    {
        SiteWatch? site = _site;
        _site = null;
        if (_thread is null)
        {
            site?.Dispose();
        }
        else
        {
            // The thread disposes it, because it may be waiting on it now.
            site?.Source.Wake();
        }
    }

    private void Log(WatchRefusal? refusal)
    {
        switch (refusal)
        {
            case null:
                break;
            case { Error: 0 } unreported:
                log.FileSystemUnreported(root, unreported.FileSystem.ToString());
                break;
            case { Error: Errno.ENOSPC }:
                log.OutOfWatches(root);
                break;
            case { Error: int error }:
                log.CannotWatch(root, ReasonOf(error));
                break;
        }
    }

    private static string ReasonOf(int error) =>
        Errno.Describe(error) + (Errno.DescriptorRemedy(error) is { } remedy ? $"; {remedy}" : "");
}
