using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Makes the listings of a snapshot's directories on request, and caches them: 50,000 names take a tenth of a second. Long listings are
/// made on the thread pool, once for all concurrent requests. Callable on any thread: two threads that race for a short listing make two
/// equal documents, and one is dropped.
/// </summary>
internal static class DirectoryDocument
{
    /// <summary>The cache limit for each snapshot.</summary>
    private const long CacheBytesMax = 16 * 1024 * 1024;

    /// <summary>The additional cache limit for pages at URL paths of rewrite rules, of which there may be any number.</summary>
    private const long RewrittenCacheBytesMax = 4 * 1024 * 1024;

    /// <summary>Names that take about two milliseconds: a longer listing is not made while other connections of a reactor wait.</summary>
    private const int InlineNamesMax = 1_000;

    private static readonly byte[] HtmlType = "text/html; charset=utf-8"u8.ToArray();
    private static readonly byte[] JsonType = "application/json"u8.ToArray();
    private static readonly ConditionalWeakTable<CatalogSnapshot, ListingCaches> Caches = [];

    /// <summary>
    /// Gets the listing of a directory of a leased snapshot. False if the caller may and must wait for it: while it holds the task, the
    /// document can be found afterwards, whatever its size. The URL path, decoded and with '/' at both ends, differs from the directory's
    /// own if a rule led here.
    /// </summary>
    public static bool TryGet(
        CatalogSnapshot snapshot,
        SiteDirectory directory,
        ReadOnlySpan<byte> urlPath,
        ReadOnlySpan<byte> query,
        bool asJson,
        bool mayWait,
        [NotNullWhen(true)] out GeneratedDocument? document,
        [NotNullWhen(false)] out Task? making)
    {
        ListingOrder order = ListingOrder.Parse(query);

        // A page contains its own path: one at another URL path differs from the directory's own.
        bool isOwn = asJson || urlPath[..^1].SequenceEqual(directory.Path);
        var key = new ListingKey(directory, order, asJson, isOwn ? "" : Encoding.Latin1.GetString(urlPath));
        ListingCaches caches = Caches.GetOrCreateValue(snapshot);
        ListingCache cache = isOwn ? caches.Own : caches.Rewritten;
        document = cache.Find(key);
        if (document is null && (!mayWait || directory.Assets.Length + directory.Subdirectories.Count <= InlineNamesMax))
        {
            document = cache.GetOrAdd(key, Make(snapshot, key, urlPath));
        }

        making = document is null ? MakeOnPool(cache, key, snapshot, urlPath.ToArray()) : null;
        return document is not null;
    }

    /// <summary>Makes a listing on the thread pool, with its own lease.</summary>
    private static Task MakeOnPool(ListingCache cache, ListingKey key, CatalogSnapshot snapshot, byte[] urlPath) => cache.Make(key, () =>
    {
        bool isLeased = snapshot.TryAcquire();
        Debug.Assert(isLeased, "the caller has a lease");
        return Task.Run(() =>
        {
            try
            {
                return Make(snapshot, key, urlPath);
            }
            finally
            {
                snapshot.Release();
            }
        });
    });

    private static GeneratedDocument Make(CatalogSnapshot snapshot, ListingKey key, ReadOnlySpan<byte> urlPath)
    {
        ListingEntry[] entries = snapshot.List(key.Directory);
        (ListingOrder order, bool asJson) = (key.Order, key.AsJson);
        byte[] bytes = asJson ? ListingJson.Render(entries, order) : ListingPage.Render(urlPath, entries, order);
        byte[] tag = Encoding.ASCII.GetBytes($"\"{Convert.ToHexStringLower(SHA256.HashData(bytes).AsSpan(0, 16))}\"");
        return new GeneratedDocument(bytes, asJson ? JsonType : HtmlType, tag);
    }

    private sealed class ListingCaches
    {
        public ListingCache Own { get; } = new(CacheBytesMax);

        public ListingCache Rewritten { get; } = new(RewrittenCacheBytesMax);
    }
}

/// <summary>
/// Caches listings up to a total size: new ones displace old ones. A listing larger than the limit is held only while a response sends it.
/// Any thread.
/// </summary>
internal sealed class ListingCache(long bytesMax)
{
    private const int SweptMin = 64;

    /// <summary>The documents that are held, or still in use.</summary>
    private readonly ConcurrentDictionary<ListingKey, WeakReference<GeneratedDocument>> _documents = new();
    private readonly Lock _lock = new();

    // Guarded by the lock.
    private readonly Dictionary<ListingKey, Task<GeneratedDocument>> _making = [];
    private readonly List<GeneratedDocument> _held = [];
    private long _heldBytes;
    private int _added;
    private int _sweptAt = SweptMin;

    public GeneratedDocument? Find(ListingKey key) =>
        _documents.TryGetValue(key, out WeakReference<GeneratedDocument>? known) && known.TryGetTarget(out GeneratedDocument? document)
            ? document
            : null;

    /// <summary>
    /// Returns the task that makes and caches a listing; starts it if it does not run yet, by <paramref name="begin"/>, under the lock.
    /// </summary>
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
            if (Find(key) is GeneratedDocument present)
            {
                return present;
            }

            Sweep();
            if (document.Bytes.Length <= bytesMax)
            {
                Hold(document);
            }

            _documents[key] = new WeakReference<GeneratedDocument>(document);
            return document;
        }
    }

    /// <summary>Removes what was collected, each time that the number has doubled: a constant cost for each document.</summary>
    private void Sweep()
    {
        if (++_added < _sweptAt)
        {
            return;
        }

        int left = 0;
        foreach ((ListingKey key, WeakReference<GeneratedDocument> weak) in _documents)
        {
            if (weak.TryGetTarget(out _))
            {
                left++;
            }
            else
            {
                _ = _documents.TryRemove(key, out _);
            }
        }

        _added = left;
        _sweptAt = Math.Max(SweptMin, 2 * left);
    }

    private void Hold(GeneratedDocument document)
    {
        if (_heldBytes + document.Bytes.Length > bytesMax)
        {
            _held.Clear();
            _heldBytes = 0;
        }

        _held.Add(document);
        _heldBytes += document.Bytes.Length;
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
}

/// <summary>A body that the server generated, whole in memory: a directory's listing.</summary>
internal sealed record GeneratedDocument(byte[] Bytes, byte[] ContentType, byte[] EntityTag);

/// <summary>Identifies a listing of a snapshot. The rewritten path is empty for a page that is at the directory's own.</summary>
internal readonly record struct ListingKey(SiteDirectory Directory, ListingOrder Order, bool AsJson, string RewrittenPath);
