using System.Collections.Concurrent;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Caches listings up to a total size: new ones displace old ones. A listing larger than the limit is held only while a response sends it.
/// Any thread.
/// </summary>
/// <param name="bytesMax">The limit on the total size.</param>
internal sealed class ListingCache(long bytesMax)
{
    private readonly ConcurrentDictionary<ListingKey, GeneratedDocument> _documents = new();
    private readonly ConcurrentDictionary<ListingKey, WeakReference<GeneratedDocument>> _large = new();
    private readonly Lock _lock = new();

    /// <summary>Guarded by the lock.</summary>
    private readonly Dictionary<ListingKey, Task<GeneratedDocument>> _making = [];
    private long _bytes;

    public GeneratedDocument? Find(ListingKey key) =>
        _documents.TryGetValue(key, out GeneratedDocument? found) ? found
        : _large.TryGetValue(key, out WeakReference<GeneratedDocument>? large) && large.TryGetTarget(out found) ? found
        : null;

    /// <summary>Returns the task that makes and caches a listing; starts it if it does not run yet.</summary>
    /// <param name="key">The listing.</param>
    /// <param name="begin">Starts the task, and does nothing else: it is called under the lock.</param>
    public Task Make(ListingKey key, Func<Task<GeneratedDocument>> begin)
    {
        lock (_lock)
        {
            if (!_making.TryGetValue(key, out Task<GeneratedDocument>? making))
            {
                making = AddAsync(key, begin());
                _making[key] = making;
            }

            return making;
        }
    }

    /// <summary>Caches a document. Returns the cached one if another thread was faster.</summary>
    public GeneratedDocument GetOrAdd(ListingKey key, GeneratedDocument document)
    {
        lock (_lock)
        {
            if (document.Bytes.Length > bytesMax)
            {
                return GetOrAddLarge(key, document);
            }

            if (_documents.TryGetValue(key, out GeneratedDocument? present))
            {
                return present;
            }

            if (_bytes + document.Bytes.Length > bytesMax)
            {
                _documents.Clear();
                _bytes = 0;
            }

            _documents[key] = document;
            _bytes += document.Bytes.Length;
            return document;
        }
    }

    private async Task<GeneratedDocument> AddAsync(ListingKey key, Task<GeneratedDocument> making)
    {
        try
        {
            // Continue after the caller has left the lock: a task that completes at once would otherwise be removed from the dictionary
            // before it is added.
            return GetOrAdd(key, await making.ConfigureAwait(ConfigureAwaitOptions.ForceYielding));
        }
        finally
        {
            lock (_lock)
            {
                _ = _making.Remove(key);
            }
        }
    }

    private GeneratedDocument GetOrAddLarge(ListingKey key, GeneratedDocument document)
    {
        foreach ((ListingKey collected, WeakReference<GeneratedDocument> weak) in _large)
        {
            if (!weak.TryGetTarget(out _))
            {
                _ = _large.TryRemove(collected, out _);
            }
        }

        if (Find(key) is { } found)
        {
            return found;
        }

        _large[key] = new WeakReference<GeneratedDocument>(document);
        return document;
    }
}

/// <summary>A body that the server generated, whole in memory: a directory's listing.</summary>
/// <param name="Bytes">The body.</param>
/// <param name="ContentType">The value of its Content-Type.</param>
/// <param name="EntityTag">Its strong entity-tag, with quotes.</param>
internal sealed record GeneratedDocument(byte[] Bytes, byte[] ContentType, byte[] EntityTag);

/// <summary>Identifies a listing of a snapshot.</summary>
/// <param name="Directory">The directory.</param>
/// <param name="Order">Its sort order.</param>
/// <param name="AsJson">Whether it is JSON.</param>
/// <param name="RewrittenPath">The URL path of a page that is not at the directory's own; empty for one that is.</param>
internal readonly record struct ListingKey(SiteDirectory Directory, ListingOrder Order, bool AsJson, string RewrittenPath);
