using System.Diagnostics;
using Microsoft.Extensions.Logging;
using Millrace.Interop;
using Millrace.Interop.Threads;
using Millrace.StaticFiles.Building;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Keeps a catalogue true to its files. It is shown every directory and symlink before the catalogue reads it, watches them by inotify,
/// and on a thread of its own has the catalogue read again what changed: visible within 100 ms, if reading takes no longer.
/// </summary>
/// <remarks>
/// <para>Opened before the catalogue, which it is given to; started with the catalogue; disposed before it. The lock is held for
/// bookkeeping only, never while the catalogue is called: whoever holds the catalogue's lock may call in.</para>
/// <para>What inotify does not tell: a write through another of a file's names, and a mount over a directory.</para>
/// </remarks>
internal sealed class TreeWatch : IDirectoryObserver, IDisposable
{
    private const int RecordsBytes = 64 * 1024;

    /// <summary>Nine times a reactor's share where both want the same processor.</summary>
    private const int Niceness = -10;

    /// <summary>A record and a name of 255 bytes with its padding: what is left free in a buffer when there are more to read.</summary>
    private const int LongestRecordBytes = 16 + 256;

    private readonly Lock _gate = new();
    private readonly ChangeBatch _batch = new();
    private readonly string _root;
    private readonly WatchLog _log;
    private volatile WatchMode _mode;

    /// <summary>Null where nothing is watched, or no more: the thread disposes it, or who sets it to null before there is one.</summary>
    private SiteWatch? _site;
    private Thread? _thread;

    private TreeWatch(string root, WatchMode mode, WatchLog log, IWatchSource? source)
    {
        _root = root;
        _log = log;
        _site = source is null ? null : new SiteWatch(root, mode, source);
        _mode = mode == WatchMode.Auto ? WatchMode.Inotify : mode;
    }

    /// <summary>How changes are found now, never <see cref="WatchMode.Auto"/>. Inotify may become Revalidate, and that is final.</summary>
    public WatchMode Mode => _mode;

    /// <summary>Raised on the watch's thread when <see cref="Mode"/> has changed; before <see cref="Start"/> it changes silently.</summary>
    public event Action? ModeChanged;

    /// <summary>The inotify watches held.</summary>
    public int WatchCount
    {
        get
        {
            lock (_gate)
            {
                return _site?.Table.WatchCount ?? 0;
            }
        }
    }

    /// <summary>Prepares to watch a site. Never fails: where the kernel gives no inotify instance, it is revalidation.</summary>
    public static TreeWatch Open(string root, WatchMode mode, ILogger logger)
    {
        var log = new WatchLog(logger);
        if (mode is WatchMode.Revalidate or WatchMode.Off)
        {
            return new TreeWatch(root, mode, log, source: null);
        }

        int result = Inotify.TryCreate(out Inotify? inotify);
        if (inotify is not null)
        {
            return new TreeWatch(root, mode, log, inotify);
        }

        if (result == -Errno.EMFILE)
        {
            log.OutOfInstances(root);
        }
        else
        {
            log.CannotWatch(root, Errno.Describe(result));
        }

        return new TreeWatch(root, WatchMode.Revalidate, log, source: null);
    }

    /// <summary>The same on a source of the caller's, which it then owns.</summary>
    public static TreeWatch Open(string root, WatchMode mode, ILogger logger, IWatchSource source) =>
        new(root, mode, new WatchLog(logger), source);

    /// <summary>Begins to tell a catalogue, which has read its site by now, of all that has changed since it began to.</summary>
    public void Start(IRefreshable catalog)
    {
        lock (_gate)
        {
            Debug.Assert(_thread is null, "a watch is started once");
            if (_site is SiteWatch site)
            {
                site.Table.Sweep();
                _log.Started(_root, site.Table.DirectoryCount, site.Table.WatchCount);
                if (site.IsRootBlind)
                {
                    _log.LooksUpRoot(_root, RootTrail.LookIntervalMs);
                }

                // As it is now: by the time the thread runs, the watch may have been given up, and that is news.
                WatchMode mode = _mode;
                _thread = new Thread(() => Run(site, catalog, mode)) { IsBackground = true, Name = "millrace-watch" };
                _thread.Start();
            }
        }
    }

    /// <inheritdoc/>
    public void Entering(int directoryFd, ReadOnlySpan<byte> path, in FileState state)
    {
        Refusal? refusal;
        lock (_gate)
        {
            _site?.Enter(directoryFd, path, state, _batch, NowMs());
            refusal = GiveUpIfRefused();
        }

        Log(refusal);
    }

    /// <inheritdoc/>
    public void Keeping(ReadOnlySpan<byte> path)
    {
        lock (_gate)
        {
            _site?.Table.Keep(path);
        }
    }

    /// <inheritdoc/>
    public void MetSymlink(ReadOnlySpan<byte> path)
    {
        Refusal? refusal;
        lock (_gate)
        {
            _site?.MeetSymlink(path);
            refusal = GiveUpIfRefused();
        }

        Log(refusal);
    }

    /// <inheritdoc/>
    public void Left(ReadOnlySpan<byte> path)
    {
        lock (_gate)
        {
            _site?.Table.Leave(path);
        }
    }

    /// <summary>Ends the watch. Returns when its thread has: after the refresh that it may be in the middle of.</summary>
    public void Dispose()
    {
        Thread? thread;
        lock (_gate)
        {
            EndWatching();
            thread = _thread;
        }

        // Who disposes from within a refresh is that thread.
        if (thread is not null && thread != Thread.CurrentThread)
        {
            thread.Join();
        }
    }

    private static long NowMs() => (long)Stopwatch.GetElapsedTime(0).TotalMilliseconds;

    private void Run(SiteWatch site, IRefreshable catalog, WatchMode before)
    {
        // It works for milliseconds, and what it brings should not wait behind a machine full of requests. Without the right to it
        // (CAP_SYS_NICE) it waits its turn.
        _ = ThreadCalls.SetNiceness(Niceness);
        var refresher = new Refresher(catalog, _root, _log);
        try
        {
            byte[] records = new byte[RecordsBytes];
            while (TryAwaitChanges(site, records, out DirectoryChange[]? changes))
            {
                long beganAtMs = NowMs();
                Settle(site, changes, refresher.Read(changes), beganAtMs);
            }
        }
        catch (Exception error)
        {
            _mode = WatchMode.Revalidate;
            _log.WatchFailed(_root, error);
        }

        lock (_gate)
        {
            _site = null;
            site.Dispose();
        }

        if (_mode != before)
        {
            ModeChanged?.Invoke();
        }
    }

    /// <summary>Waits until something is to be read again: these, or all (null). False: it is over.</summary>
    private bool TryAwaitChanges(SiteWatch site, byte[] records, out DirectoryChange[]? changes)
    {
        changes = null;
        while (true)
        {
            AwaitRecords(site);
            int recordBytes = site.Source.Read(records);
            bool hasOverflowed;
            bool isDue;
            lock (_gate)
            {
                if (_site is null)
                {
                    return false;
                }

                hasOverflowed = site.Collect(records.AsSpan(0, recordBytes), _batch, NowMs());
                // All there is first: what is read again then has it all, and an overflow is met before what it makes in vain. Two
                // thousand records take less than a millisecond: nobody writes them faster.
                isDue = recordBytes <= RecordsBytes - LongestRecordBytes && _batch.DelayMs(NowMs()) == 0;
                changes = isDue ? _batch.Take() : null;
                if (isDue)
                {
                    site.BeginRead(changes);
                }
            }

            if (hasOverflowed)
            {
                _log.Overflowed(_root);
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
        lock (_gate)
        {
            delayMs = _batch.DelayMs(NowMs());
            timeoutMs = site.IsRootBlind ? RootTrail.LookIntervalMs : -1;
        }

        if (delayMs < 0)
        {
            site.Source.Wait(timeoutMs);
        }
        else if (delayMs > 0)
        {
            // Not for the next record: of a log that is written without a pause there may be a hundred thousand a second.
            site.Source.Rest(Math.Min(delayMs, ChangeBatch.QuietMs));
        }
    }

    private void Settle(SiteWatch site, DirectoryChange[]? changes, RefreshOutcome outcome, long beganAtMs)
    {
        lock (_gate)
        {
            if (outcome == RefreshOutcome.Failed)
            {
                _batch.Failed(beganAtMs, NowMs());
                return;
            }

            _batch.Succeeded(beganAtMs, NowMs());
            if (_site is not null)
            {
                site.Table.EndRead(changes);
            }
        }
    }

    /// <summary>
    /// With the gate held. Of a site that cannot be watched whole no part is: what the kernel keeps for it is given back.
    /// </summary>
    private Refusal? GiveUpIfRefused()
    {
        if (_site?.Table.Refusal is not Refusal refusal)
        {
            return null;
        }

        _mode = WatchMode.Revalidate;
        EndWatching();
        return refusal;
    }

    /// <summary>With the gate held.</summary>
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
            // The thread disposes it: it may be waiting for it right now.
            site?.Source.Wake();
        }
    }

    private void Log(Refusal? refusal)
    {
        switch (refusal)
        {
            case null:
                break;
            case { Error: 0 } silent:
                _log.FileSystemIsSilent(_root, silent.FileSystem.ToString());
                break;
            case { Error: Errno.ENOSPC }:
                _log.OutOfWatches(_root);
                break;
            case { Error: int error }:
                _log.CannotWatch(_root, Errno.Describe(error));
                break;
        }
    }
}
