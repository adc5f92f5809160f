using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Compression;

/// <summary>
/// Delays background work on files that keep changing: a log that is appended to five times a second must not keep a processor busy. Work
/// is in vain if its file changes before the result was of use for twenty times as long as it took. From then on the file's work waits for
/// a pause without a change, which doubles each time, up to 64 times what the work takes. One thread.
/// </summary>
internal sealed class ChangeBackoff(TimeProvider clock, TimeSpan pauseMin)
{
    /// <summary>Keeps the work on a file that changes at any rate below a twentieth of a processor.</summary>
    private const int UseFactor = 20;

    /// <summary>More than <see cref="UseFactor"/>, so that the work on a file that changes at any rate ends there.</summary>
    private const int PauseFactorMax = 64;

    private static readonly TimeSpan PauseMax = TimeSpan.FromMinutes(1);

    private readonly Dictionary<SitePath, Entry> _entries = [];
    private readonly PriorityQueue<Entry, long> _expiry = new();

    /// <summary>The time until the first of the files is due that had to wait since <see cref="Begin"/>; null for none.</summary>
    public TimeSpan? NextDue { get; private set; }

    /// <summary>The files that are remembered: few, as those whose work was not in vain are forgotten.</summary>
    public int Count => _entries.Count;

    /// <summary>Begins a pass over all files.</summary>
    public void Begin() => NextDue = null;

    /// <summary>Whether the work on a version of a file may begin. If not, it counts for <see cref="NextDue"/>.</summary>
    public bool IsDue(SitePath path, object version)
    {
        Forget();
        if (!_entries.TryGetValue(path, out Entry? entry))
        {
            return true;
        }

        if (entry.IsForgottenAt(clock.GetTimestamp()))
        {
            _entries.Remove(path);
            return true;
        }

        if (entry.Version != version)
        {
            entry.Pause = entry.HasResult ? PauseAfter(entry) : entry.Pause;
            entry.HasResult = false;
            entry.Version = version;
            entry.DueAt = After(entry.Pause);
            entry.ExpiresAt = After(entry.Pause + PauseMax);
        }

        TimeSpan wait = clock.GetElapsedTime(clock.GetTimestamp(), entry.DueAt);
        if (wait > TimeSpan.Zero)
        {
            WaitFor(wait);
        }

        return wait <= TimeSpan.Zero;
    }

    /// <summary>Notes that another pass is wanted after this time.</summary>
    public void WaitFor(TimeSpan time) => NextDue = NextDue is TimeSpan next ? Shorter(next, time) : time;

    /// <summary>Notes the work on a version of a file, whatever its result.</summary>
    public void Spent(SitePath path, object version, TimeSpan took)
    {
        if (!_entries.TryGetValue(path, out Entry? entry))
        {
            entry = new Entry(path);
            _entries.Add(path, entry);
            _expiry.Enqueue(entry, After(UseFactor * took));
        }

        entry.Version = version;
        entry.HasResult = true;
        entry.Took = took;
        entry.ExpiresAt = After(UseFactor * took);
        Forget();
    }

    private static TimeSpan Shorter(TimeSpan left, TimeSpan right) => left < right ? left : right;

    private static TimeSpan Longer(TimeSpan left, TimeSpan right) => left < right ? right : left;

    private TimeSpan PauseAfter(Entry entry) =>
        Longer(pauseMin, Shorter(2 * entry.Pause, Shorter(PauseFactorMax * entry.Took, PauseMax)));

    private long After(TimeSpan time) => clock.GetTimestamp() + (long)(time.TotalSeconds * clock.TimestampFrequency);

    /// <summary>Forgets the files whose results were of use, and those that are gone.</summary>
    private void Forget()
    {
        long now = clock.GetTimestamp();
        while (_expiry.TryPeek(out Entry? entry, out long at) && at <= now)
        {
            _ = _expiry.Dequeue();
            if (_entries.GetValueOrDefault(entry.Path) != entry)
            {
                continue;
            }

            if (entry.IsForgottenAt(now))
            {
                _entries.Remove(entry.Path);
            }
            else
            {
                _expiry.Enqueue(entry, entry.ExpiresAt);
            }
        }
    }

    private sealed class Entry(SitePath path)
    {
        public SitePath Path => path;

        public object? Version { get; set; }

        /// <summary>Whether there was work on this version.</summary>
        public bool HasResult { get; set; }

        /// <summary>How long the last work took.</summary>
        public TimeSpan Took { get; set; }

        public TimeSpan Pause { get; set; }

        public long DueAt { get; set; }

        public long ExpiresAt { get; set; }

        public bool IsForgottenAt(long now) => ExpiresAt <= now;
    }
}
