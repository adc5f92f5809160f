using System.Collections.Concurrent;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Listings up to a sum of bytes: old ones make room for new. One that is larger by itself is there as long as somebody sends it. Any
/// thread.
/// </summary>
/// <param name="bytesMax">What is kept.</param>
internal sealed class ListingShelf(long bytesMax)
{
    private readonly ConcurrentDictionary<ListingKey, PlanDocument> _kept = new();
    private readonly ConcurrentDictionary<ListingKey, WeakReference<PlanDocument>> _large = new();
    private readonly Lock _changing = new();

    /// <summary>Under the lock only.</summary>
    private readonly Dictionary<ListingKey, Task<PlanDocument>> _making = [];
    private long _bytes;

    public PlanDocument? Find(ListingKey key) =>
        _kept.TryGetValue(key, out PlanDocument? found) ? found
        : _large.TryGetValue(key, out WeakReference<PlanDocument>? large) && large.TryGetTarget(out found) ? found
        : null;

    /// <summary>Has it made, unless that has begun, and keeps it.</summary>
    /// <param name="key">Which.</param>
    /// <param name="begin">Begins to make it, and does no more than that: others wait.</param>
    public Task Make(ListingKey key, Func<Task<PlanDocument>> begin)
    {
        lock (_changing)
        {
            if (!_making.TryGetValue(key, out Task<PlanDocument>? making))
            {
                making = KeepAsync(key, begin());
                _making[key] = making;
            }

            return making;
        }
    }

    /// <summary>Gives the one that is kept by now, if another was quicker.</summary>
    public PlanDocument Keep(ListingKey key, PlanDocument document)
    {
        lock (_changing)
        {
            if (document.Bytes.Length > bytesMax)
            {
                return KeepLarge(key, document);
            }

            if (_kept.TryGetValue(key, out PlanDocument? kept))
            {
                return kept;
            }

            if (_bytes + document.Bytes.Length > bytesMax)
            {
                _kept.Clear();
                _bytes = 0;
            }

            _kept[key] = document;
            _bytes += document.Bytes.Length;
            return document;
        }
    }

    private async Task<PlanDocument> KeepAsync(ListingKey key, Task<PlanDocument> making)
    {
        try
        {
            // Behind who began it and holds the lock: in its place what has ended at once would be put there when it had been taken out.
            return Keep(key, await making.ConfigureAwait(ConfigureAwaitOptions.ForceYielding));
        }
        finally
        {
            lock (_changing)
            {
                _ = _making.Remove(key);
            }
        }
    }

    private PlanDocument KeepLarge(ListingKey key, PlanDocument document)
    {
        foreach ((ListingKey gone, WeakReference<PlanDocument> weak) in _large)
        {
            if (!weak.TryGetTarget(out _))
            {
                _ = _large.TryRemove(gone, out _);
            }
        }

        if (Find(key) is { } found)
        {
            return found;
        }

        _large[key] = new WeakReference<PlanDocument>(document);
        return document;
    }
}
