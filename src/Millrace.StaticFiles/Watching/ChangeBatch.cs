using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Gathers what has changed until it is worth reading: when nothing more has come for a moment, or when a storm has lasted too long.
/// Knows no clock: callers say what time it is, in milliseconds of a clock that only goes forward. Not safe for threads.
/// </summary>
internal sealed class ChangeBatch
{
    /// <summary>What belongs together (an upload, a checkout) comes with less between its parts.</summary>
    public const int QuietMs = 5;

    /// <summary>What never rests is shown all the same, well within 100 ms of its first change.</summary>
    public const int StormMs = 10;

    /// <summary>How soon what failed is tried again if nothing changes.</summary>
    public const int RetryMs = 1000;

    /// <summary>
    /// After a read that took long comes a pause as long, so that a log that is written into a huge directory costs half a core at most;
    /// but no longer than this.
    /// </summary>
    public const int PauseMsMax = 1000;

    /// <summary>A site that cannot be read is tried in a tenth of the time.</summary>
    private const int RetryPauseFactor = 9;

    /// <summary>Where more names than these have changed, the directory is read as a whole.</summary>
    private const int NamesMax = 1024;

    /// <summary>The names that have changed, by directory; null: anything may have.</summary>
    private readonly Dictionary<byte[], HashSet<byte[]>?> _directories = new(PathBytes.Comparer);
    private bool _isWhole;
    private bool _isWaiting;
    private long _firstAtMs;
    private long _lastAtMs;
    private long _pauseEndsAtMs = long.MinValue;
    private long? _retryAtMs;

    /// <summary>A directory of which anything may have changed.</summary>
    public void Add(byte[] directoryPath, long nowMs)
    {
        _directories[directoryPath] = null;
        Note(nowMs);
    }

    /// <summary>A directory whose entry of a name has changed.</summary>
    public void Add(byte[] directoryPath, ReadOnlySpan<byte> name, long nowMs)
    {
        if (!_directories.TryGetValue(directoryPath, out HashSet<byte[]>? names))
        {
            names = new HashSet<byte[]>(PathBytes.Comparer);
            _directories.Add(directoryPath, names);
        }

        if (names?.Count == NamesMax)
        {
            _directories[directoryPath] = null;
        }
        else
        {
            _ = names?.GetAlternateLookup<ReadOnlySpan<byte>>().Add(name);
        }

        Note(nowMs);
    }

    /// <summary>Anything may have changed.</summary>
    public void AddWhole(long nowMs)
    {
        _isWhole = true;
        Note(nowMs);
    }

    /// <summary>How long there is still to wait: 0 when it is time to <see cref="Take"/>, -1 when there is nothing to wait for.</summary>
    public int DelayMs(long nowMs)
    {
        long dueAtMs = _retryAtMs ?? long.MaxValue;
        if (_isWaiting)
        {
            long restedAtMs = Math.Min(_lastAtMs + QuietMs, _firstAtMs + StormMs);
            dueAtMs = Math.Min(dueAtMs, Math.Max(restedAtMs, _pauseEndsAtMs));
        }

        return dueAtMs == long.MaxValue ? -1 : (int)Math.Clamp(dueAtMs - nowMs, 0, int.MaxValue);
    }

    /// <summary>What to read again, or null: all.</summary>
    public DirectoryChange[]? Take()
    {
        DirectoryChange[]? taken = _isWhole ? null : [.. _directories.Select(static pair => new DirectoryChange(pair.Key, pair.Value))];
        _directories.Clear();
        _isWhole = false;
        _isWaiting = false;
        _retryAtMs = null;
        return taken;
    }

    /// <summary>What was taken has been read.</summary>
    public void Succeeded(long beganAtMs, long endedAtMs) => _pauseEndsAtMs = endedAtMs + Math.Min(endedAtMs - beganAtMs, PauseMsMax);

    /// <summary>It could not be read: next time all is, since nobody knows what of it was.</summary>
    public void Failed(long beganAtMs, long endedAtMs)
    {
        Succeeded(beganAtMs, endedAtMs);
        _isWhole = true;
        _retryAtMs = endedAtMs + Math.Max(RetryMs, RetryPauseFactor * (endedAtMs - beganAtMs));
    }

    private void Note(long nowMs)
    {
        _firstAtMs = _isWaiting ? _firstAtMs : nowMs;
        _lastAtMs = nowMs;
        _isWaiting = true;
    }
}
