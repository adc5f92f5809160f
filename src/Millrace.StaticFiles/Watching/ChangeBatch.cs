using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Watching;

/// <summary>
/// Collects changes until they should be read: after a quiet moment, or when changes have continued too long. Has no clock of its own:
/// callers pass the time in milliseconds of a monotonic clock. Not thread-safe.
/// </summary>
internal sealed class ChangeBatch
{
    /// <summary>Quiet time that ends a batch: related changes (an upload, a checkout) follow each other faster.</summary>
    public const int QuietMs = 5;

    /// <summary>The longest delay of continuous changes, well within 100 ms of the first.</summary>
    public const int StormMs = 10;

    /// <summary>The delay before a failed read is retried if nothing changes.</summary>
    public const int RetryMs = 1000;

    /// <summary>
    /// The longest pause after a read. The pause is as long as the read took, so that a log in a huge directory costs half a core at most.
    /// </summary>
    public const int PauseMsMax = 1000;

    /// <summary>Failing reads take a tenth of the time at most.</summary>
    private const int RetryPauseFactor = 9;

    /// <summary>With more changed names than this, the directory is read as a whole.</summary>
    private const int NamesMax = 1024;

    /// <summary>The changed names by directory; null if anything may have changed.</summary>
    private readonly Dictionary<byte[], HashSet<byte[]>?> _directories = new(BytesComparer.Instance);
    private bool _isWhole;
    private bool _isWaiting;
    private long _firstAtMs;
    private long _lastAtMs;
    private long _pauseEndsAtMs = long.MinValue;
    private long? _retryAtMs;

    /// <summary>Adds a directory in which anything may have changed.</summary>
    public void Add(byte[] directoryPath, long nowMs)
    {
        _directories[directoryPath] = null;
        Note(nowMs);
    }

    /// <summary>Adds a changed entry of a directory; without a name, anything in it may have changed.</summary>
    public void Add(byte[] directoryPath, ReadOnlySpan<byte> name, long nowMs)
    {
        if (name.IsEmpty)
        {
            Add(directoryPath, nowMs);
            return;
        }

        if (!_directories.TryGetValue(directoryPath, out HashSet<byte[]>? names))
        {
            names = new HashSet<byte[]>(BytesComparer.Instance);
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

    public void AddWhole(long nowMs)
    {
        _isWhole = true;
        Note(nowMs);
    }

    /// <summary>The time to wait: 0 when <see cref="Take"/> is due, -1 when nothing is pending.</summary>
    public int DelayMs(long nowMs)
    {
        long dueAtMs = _retryAtMs ?? long.MaxValue;
        if (_isWaiting)
        {
            long quietAtMs = Math.Min(_lastAtMs + QuietMs, _firstAtMs + StormMs);
            dueAtMs = Math.Min(dueAtMs, Math.Max(quietAtMs, _pauseEndsAtMs));
        }

        return dueAtMs == long.MaxValue ? -1 : (int)Math.Clamp(dueAtMs - nowMs, 0, int.MaxValue);
    }

    /// <summary>Removes and returns the changes; null for the whole site.</summary>
    public DirectoryChange[]? Take()
    {
        DirectoryChange[]? taken = _isWhole ? null : [.. _directories.Select(static pair => new DirectoryChange(pair.Key, pair.Value))];
        _directories.Clear();
        _isWhole = false;
        _isWaiting = false;
        _retryAtMs = null;
        return taken;
    }

    /// <summary>The taken changes were read.</summary>
    public void Succeeded(long beganAtMs, long endedAtMs) => _pauseEndsAtMs = endedAtMs + Math.Min(endedAtMs - beganAtMs, PauseMsMax);

    /// <summary>The read failed: the next one covers the whole site, as it is unknown what was read.</summary>
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
