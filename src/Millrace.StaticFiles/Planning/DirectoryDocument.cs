using System.Collections.Concurrent;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;
using System.Text;
using Millrace.Http;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Pages;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Makes the listings of a site's directories on request, and caches them for its version: 50,000 names take a tenth of a second. Long
/// listings are made on the thread pool, once for all concurrent requests. Callable on any thread: two threads that race for a short
/// listing make two equal documents, and one is dropped.
/// </summary>
internal static class DirectoryDocument
{
    /// <summary>The cache limit for each version of a site.</summary>
    private const long CacheBytesMax = 16 * 1024 * 1024;

    /// <summary>The additional cache limit for pages at URL paths of rewrite rules, of which there may be any number.</summary>
    private const long RewrittenCacheBytesMax = 4 * 1024 * 1024;

    /// <summary>
    /// Names whose page takes about a millisecond, coding included: a longer listing is not made while other connections of a reactor wait.
    /// </summary>
    private const int InlineNamesMax = 250;

    private static readonly byte[] JsonType = "application/json"u8.ToArray();
    private static readonly ConditionalWeakTable<DirectoryTable, ListingCaches> Caches = [];

    /// <summary>
    /// Gets the listing of a directory of a leased snapshot. False if the caller must wait for it, and then try again. The URL path,
    /// decoded and with '/' at both ends, differs from the directory's own if a rule led here.
    /// </summary>
    /// <param name="snapshot">The leased snapshot.</param>
    /// <param name="directory">One of its directories.</param>
    /// <param name="urlPath">The path that the page is at.</param>
    /// <param name="form">The form of the listing.</param>
    /// <param name="prepared">What the request has waited for: it is used even if the directory has changed meanwhile.</param>
    /// <param name="document">The listing.</param>
    /// <param name="preparation">What the request must wait for.</param>
    public static bool TryGet(
        CatalogSnapshot snapshot,
        SiteDirectory directory,
        ReadOnlySpan<byte> urlPath,
        ListingForm form,
        ListingPreparation? prepared,
        [NotNullWhen(true)] out GeneratedDocument? document,
        [NotNullWhen(false)] out ListingPreparation? preparation)
    {
        // A page contains its own path: one at another URL path differs from the directory's own.
        bool isOwn = form.AsJson || urlPath[..^1].SequenceEqual(directory.Path);
        var key = new ListingKey(directory, form, isOwn ? "" : Encoding.Latin1.GetString(urlPath));
        ListingCaches caches = Caches.GetOrCreateValue(snapshot.Table);
        ListingCache cache = isOwn ? caches.Own : caches.Rewritten;
        document = cache.Find(key);
        if (document is null && NamesOf(directory) <= InlineNamesMax)
        {
            document = cache.GetOrAdd(key, caches.Make(cache, key, snapshot, urlPath));
        }

        document ??= prepared?.DocumentFor(directory, urlPath);
        if (document is not null)
        {
            preparation = null;
            return true;
        }

        byte[] path = urlPath.ToArray();
        preparation = new ListingPreparation(MakeOnPool(caches, cache, key, snapshot, path), directory.SitePath, path);
        return false;
    }

    /// <summary>Makes a listing on the thread pool, with its own lease.</summary>
    private static Task<GeneratedDocument> MakeOnPool(
        ListingCaches caches, ListingCache cache, ListingKey key, CatalogSnapshot snapshot, byte[] urlPath) => cache.Make(key, () =>
    {
        bool isLeased = snapshot.TryAcquire();
        Debug.Assert(isLeased, "the caller has a lease");
        return Task.Run(() =>
        {
            try
            {
                return caches.Make(cache, key, snapshot, urlPath);
            }
            finally
            {
                snapshot.Release();
            }
        });
    });

    /// <summary>The names of a directory, a little more than its listing has if links lead nowhere.</summary>
    public static int NamesOf(SiteDirectory directory) =>
        directory.Assets.Length + directory.Subdirectories.Count + directory.Aliases.Count;

    private sealed class ListingCaches
    {
        public ListingCache Own { get; } = new(CacheBytesMax);

        public ListingCache Rewritten { get; } = new(RewrittenCacheBytesMax);

        /// <summary>The sorted entries of directories with several pages, which are asked for one after the other.</summary>
        private readonly ConcurrentDictionary<(SiteDirectory, ListingOrder), WeakReference<ListingEntry[]>> _entries = new();

        /// <summary>Makes a listing. A coded one is made from the plain one, which is cached too.</summary>
        public GeneratedDocument Make(ListingCache cache, ListingKey key, CatalogSnapshot snapshot, ReadOnlySpan<byte> urlPath)
        {
            if (key.Form.Coding != ContentCoding.Identity)
            {
                ListingKey plainKey = key with { Form = key.Form with { Coding = ContentCoding.Identity } };
                GeneratedDocument plain =
                    cache.Find(plainKey) ?? cache.GetOrAdd(plainKey, Make(cache, plainKey, snapshot, urlPath));
                return plain.CodedAs(key.Form.Coding);
            }

            ListingEntry[] entries = EntriesOf(snapshot, key.Directory, key.Form.Order);
            return key.Form.AsJson
                ? GeneratedDocument.WithTag(ListingJson.Render(entries), JsonType)
                : GeneratedDocument.WithTag(
                    ListingPage.Render(urlPath, entries, key.Form.Order, key.Form.Page, key.Form.Archives), PageStyle.HtmlType);
        }

        private ListingEntry[] EntriesOf(CatalogSnapshot snapshot, SiteDirectory directory, ListingOrder order)
        {
            if (_entries.TryGetValue((directory, order), out WeakReference<ListingEntry[]>? known)
                && known.TryGetTarget(out ListingEntry[]? entries))
            {
                return entries;
            }

            entries = snapshot.List(directory);
            order.Sort(entries);
            if (ListingForm.PagesOf(entries.Length) > 1)
            {
                _entries[(directory, order)] = new WeakReference<ListingEntry[]>(entries);
            }

            return entries;
        }
    }
}

/// <summary>
/// A listing that is made for a request. The request shows it even if the directory has changed since it came, as otherwise it might wait
/// for ever. Immutable.
/// </summary>
internal sealed class ListingPreparation(Task<GeneratedDocument> making, SitePath directory, byte[] urlPath)
{
    /// <summary>Completes when the listing is made, or fails.</summary>
    public Task Made => making;

    /// <summary>The listing if it is made and of this directory at this path; its form is the request's.</summary>
    public GeneratedDocument? DocumentFor(SiteDirectory wanted, ReadOnlySpan<byte> wantedUrlPath) =>
        making.IsCompletedSuccessfully && wanted.Path.SequenceEqual(directory.Bytes) && wantedUrlPath.SequenceEqual(urlPath)
            ? making.Result
            : null;
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
    public Task<GeneratedDocument> Make(ListingKey key, Func<Task<GeneratedDocument>> begin)
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

/// <summary>Identifies a listing of a snapshot. The rewritten path is empty for a page that is at the directory's own.</summary>
internal readonly record struct ListingKey(SiteDirectory Directory, ListingForm Form, string RewrittenPath);
