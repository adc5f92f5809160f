using System.Text;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// Keeps the files of a site for later deployments, and codes the present ones with those of earlier deployments, and pages with the
/// dictionary of pages: each pair once, smallest file first, after their codings without a dictionary. Works in slices, so that it takes no
/// more than its share of a processor. An unexpected error is reported; it is about one file. One thread; the totals are read by any.
/// </summary>
internal sealed class DictionaryPass
{
    /// <summary>How many dictionaries a file is coded with: what clients have that come back is nearly always the last of them.</summary>
    private const int DictionariesMax = 8;

    /// <summary>A file that stays while its dictionaries change gets no more variants from here on.</summary>
    private const int VariantsMax = 2 * DictionariesMax;

    /// <summary>
    /// Browsers name the file of a family that they fetched last. Of a family with more files than this, that is hardly ever one that a
    /// file was coded with: bundlers name all chunks alike.
    /// </summary>
    private const int FamilyMax = 16;

    private static readonly TimeSpan Slice = TimeSpan.FromMilliseconds(250);

    private readonly AssetCatalog _catalog;
    private readonly SiteOptions _options;
    private readonly DictionaryHistory _history;
    private readonly PageDictionaries? _pages;
    private readonly Func<Asset, bool> _isRestricted;
    private readonly PlanScratch _scratch = new();
    private readonly Action<Exception> _failed;
    private readonly TimeProvider _clock;
    private readonly ChangeBackoff _backoff;

    /// <summary>The files of families, and whether the history had room for them.</summary>
    private readonly Dictionary<Asset, (string Family, DictionaryHash Hash, bool IsStored)> _enrolled = [];

    /// <summary>The site whose pages the dictionary of pages is up to date with. It may be released.</summary>
    private CatalogSnapshot? _pagesSeen;

    /// <summary>What had no room: nothing larger is coded before that much is free.</summary>
    private long _refusedBytes;
    private long _beganAt;
    private TimeSpan? _pause;
    private long _made;

    /// <param name="catalog">The site.</param>
    /// <param name="options">Its options.</param>
    /// <param name="history">The files of earlier deployments.</param>
    /// <param name="pages">The dictionary of pages; null for none.</param>
    /// <param name="isRestricted">Whether not everybody may see a file: it is neither coded nor a dictionary.</param>
    /// <param name="failed">Called with unexpected errors.</param>
    /// <param name="clock">The time.</param>
    public DictionaryPass(
        AssetCatalog catalog,
        SiteOptions options,
        DictionaryHistory history,
        PageDictionaries? pages,
        Func<Asset, bool> isRestricted,
        Action<Exception> failed,
        TimeProvider clock)
    {
        (_catalog, _options, _history, _pages) = (catalog, options, history, pages);
        (_isRestricted, _failed, _clock) = (isRestricted, failed, clock);
        _backoff = new ChangeBackoff(clock, CompressionPass.PauseMin);
    }

    /// <summary>The time until it has more to do without a change of the site; null for nothing.</summary>
    public TimeSpan? NextDue => _pause < _backoff.NextDue ? _pause : _backoff.NextDue ?? _pause;

    /// <summary>The variants that were made so far. Any thread.</summary>
    public long Made => Volatile.Read(ref _made);

    /// <summary>Works for a slice, or until the site changes. What is left is due later.</summary>
    public void Run(CancellationToken stop)
    {
        _pause = null;
        _backoff.Begin();
        if (!ZstdLibrary.TryLoad(out ZstdLibrary? library))
        {
            return;
        }

        _beganAt = _clock.GetTimestamp();
        _history.Refresh();
        CatalogSnapshot snapshot = _catalog.Acquire();
        Asset[] assets;
        try
        {
            assets = [.. snapshot.AssetsForDictionaries()
                .Where(asset => asset.Size <= Math.Min(_options.DictionaryFileBytesMax, BodyCoder.BytesMax) && !_isRestricted(asset))
                .OrderBy(static asset => asset.Size).ThenBy(static asset => asset.SitePath, SitePath.ByBytes)];
        }
        finally
        {
            snapshot.Release();
        }

        bool isWhole = Enrol(assets, snapshot, stop) && UpdatePages(library, assets, snapshot);
        if (isWhole)
        {
            CodeAll(library, assets, snapshot, stop);
        }
    }

    /// <summary>Adds the files of families to the history. False if time is up or the site has changed.</summary>
    private bool Enrol(Asset[] assets, CatalogSnapshot snapshot, CancellationToken stop)
    {
        var present = new HashSet<(string, DictionaryHash)>();
        foreach (Asset retired in _enrolled.Keys.Where(static asset => asset.IsRetired).ToArray())
        {
            _enrolled.Remove(retired);
        }

        foreach ((Asset asset, string family) in FamilyFiles(assets))
        {
            bool isKnown = _enrolled.TryGetValue(asset, out (string Family, DictionaryHash Hash, bool IsStored) known)
                && (!known.IsStored || _history.MarkCurrent(family, known.Hash));
            if (!isKnown)
            {
                if (MustStop(snapshot, stop))
                {
                    return false;
                }

                Guarded(() => EnrolOne(asset, family));
            }

            if (_enrolled.TryGetValue(asset, out known))
            {
                present.Add((family, known.Hash));
            }
        }

        if (_pages?.Current is { } page)
        {
            present.Add((PageDictionaries.Family, page.Hash));
        }

        _history.Retire(present);
        return true;
    }

    private List<(Asset Asset, string Family)> FamilyFiles(Asset[] assets)
    {
        var files = new List<(Asset Asset, string Family)>();
        var sizes = new Dictionary<string, int>(StringComparer.Ordinal);
        foreach (Asset asset in assets.Where(asset => _options.Dictionaries && asset.HasHashedName))
        {
            if (DictionaryFamily.TryOf(asset.Path, out string family))
            {
                files.Add((asset, family));
                sizes[family] = sizes.GetValueOrDefault(family) + 1;
            }
        }

        files.RemoveAll(file => sizes[file.Family] > FamilyMax);
        return files;
    }

    private void EnrolOne(Asset asset, string family)
    {
        byte[] bytes = new byte[asset.Size];
        if (!AssetReader.TryRead(_catalog, asset, bytes))
        {
            return;
        }

        var hash = DictionaryHash.Of(bytes);
        bool isStored = _history.TryAdd(family, hash, bytes);
        _enrolled[asset] = (family, hash, isStored);
        if (asset.Dictionary is null)
        {
            byte[] useAs = isStored ? Encoding.ASCII.GetBytes($"match=\"{family}\"") : [];
            _catalog.SetDictionary(asset, new AssetDictionary(useAs, isPage: false));
        }
    }

    /// <summary>Trains the dictionary of pages if it is due. False if time is up.</summary>
    private bool UpdatePages(ZstdLibrary library, Asset[] assets, CatalogSnapshot snapshot)
    {
        if (_pages is null || _pagesSeen == snapshot)
        {
            return true;
        }

        Asset[] pages = [.. assets.Where(DictionaryFamily.IsPage)];
        foreach (Asset page in pages.Where(static page => page.Dictionary is null))
        {
            _catalog.SetDictionary(page, new AssetDictionary([], isPage: true));
        }

        Guarded(() =>
        {
            if (_pages.Update(library, [.. pages.Where(page => PageDictionaries.MayTeach(page, snapshot.Rules, _scratch))]))
            {
                PageDictionary made = _pages.Current!;
                _ = _history.TryAdd(PageDictionaries.Family, made.Hash, made.Bytes);
            }

            _pagesSeen = snapshot;
        });
        return !IsTimeUp();
    }

    private void CodeAll(ZstdLibrary library, Asset[] assets, CatalogSnapshot snapshot, CancellationToken stop)
    {
        StoredDictionary[] pages =
            _pages is null ? [] : [.. _history.Of(PageDictionaries.Family).OrderByDescending(static one => one.IsCurrent)];
        foreach (Asset asset in assets)
        {
            if (asset.Dictionary is not { Variants.Length: < VariantsMax } dictionary)
            {
                continue;
            }

            IEnumerable<StoredDictionary> candidates = dictionary.IsPage ? pages
                : _enrolled.TryGetValue(asset, out (string Family, DictionaryHash Hash, bool IsStored) own)
                    ? _history.Of(own.Family).Where(one => one.Hash != own.Hash)
                    : [];
            StoredDictionary[] untried =
                [.. candidates.Take(DictionariesMax).Where(one => !dictionary.Tried.Contains(one.Hash))];
            if (untried.Length == 0 || (dictionary.IsPage && !_backoff.IsDue(asset.SitePath, asset)))
            {
                continue;
            }

            foreach (StoredDictionary one in untried)
            {
                if (MustStop(snapshot, stop))
                {
                    return;
                }

                Guarded(() => CodeOne(library, asset, dictionary, one, stop));
            }
        }
    }

    private void CodeOne(ZstdLibrary library, Asset asset, AssetDictionary dictionary, StoredDictionary with, CancellationToken stop)
    {
        if (_refusedBytes > 0 && !_catalog.HasRoomForDictionary(_refusedBytes))
        {
            return;
        }

        _refusedBytes = 0;

        // Before its result, so that an error is not met again and again.
        dictionary.Tried.Add(with.Hash);
        BodyMemory memory = BodyMemory.Allocate(asset.Size, mayHoldDescriptor: false);
        try
        {
            if (_history.Read(with) is not { } bytes || !AssetReader.TryRead(_catalog, asset, memory.Body))
            {
                return;
            }

            long beganAt = _clock.GetTimestamp();
            long smallest = asset.Variants?.All.Min(static variant => variant.Size) ?? asset.Size;
            byte[]? coded = DictionaryCoder.TryCode(library, memory.Body, bytes, with.Hash, Math.Min(smallest, asset.Size), stop);
            if (dictionary.IsPage)
            {
                _backoff.Spent(asset.SitePath, asset, _clock.GetElapsedTime(beganAt));
            }

            if (coded is not null)
            {
                Publish(asset, with.Hash, coded, dictionary);
            }
        }
        finally
        {
            memory.Release();
        }
    }

    private void Publish(Asset asset, in DictionaryHash hash, byte[] coded, AssetDictionary dictionary)
    {
        PublishOutcome outcome = _catalog.Publish(asset, hash, coded);
        if (outcome == PublishOutcome.NoRoom)
        {
            _refusedBytes = BodyMemory.AllocatedBytes(coded.Length);
            dictionary.Tried.Remove(hash);
        }
        else if (outcome == PublishOutcome.Published)
        {
            Volatile.Write(ref _made, _made + 1);
        }
    }

    private bool MustStop(CatalogSnapshot snapshot, CancellationToken stop) =>
        stop.IsCancellationRequested || _catalog.Current != snapshot || IsTimeUp();

    /// <summary>Whether the slice is over; then the rest is due after the pause that keeps the share.</summary>
    private bool IsTimeUp()
    {
        TimeSpan worked = _clock.GetElapsedTime(_beganAt);
        int percent = _options.DictionaryProcessorPercent;
        if (percent >= 100 || worked < Slice)
        {
            return false;
        }

        _pause = worked * ((100.0 - percent) / percent);
        return true;
    }

    private void Guarded(Action work)
    {
        try
        {
            work();
        }
#pragma warning disable CA1031 // It is reported, and about one file; the others are coded.
        catch (Exception error)
#pragma warning restore CA1031
        {
            _failed(error);
        }
    }
}
