using System.Text;
using Millrace.Http;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// Keeps the files of a site for later deployments, and codes the present ones with those of earlier deployments, and pages with the
/// dictionary of pages: each pair once in each coding, smallest file first, after their codings without a dictionary. The slower coding
/// begins when all have the faster one. Works in slices, so that it takes no more than its share of a processor; each makes progress, by at
/// least one file. An unexpected error is reported; it is about one file. One thread; the totals are read by any.
/// </summary>
internal sealed class DictionaryPass
{
    /// <summary>How many dictionaries a file is coded with: what clients have that come back is nearly always the last of them.</summary>
    private const int DictionariesMax = 8;

    /// <summary>A file that stays while its dictionaries change gets no more variants from here on: so many for each coding.</summary>
    private const int VariantsMax = 2 * DictionariesMax;

    /// <summary>
    /// Browsers name the file of a family that they fetched last. Of a family with more files than this, that is hardly ever one that a
    /// file was coded with: bundlers name all chunks alike.
    /// </summary>
    private const int FamilyMax = 16;

    private static readonly TimeSpan Slice = TimeSpan.FromMilliseconds(250);

    /// <summary>The time until a dictionary that could not be read is tried again.</summary>
    private static readonly TimeSpan RetryAfter = TimeSpan.FromMinutes(1);

    private readonly AssetCatalog _catalog;
    private readonly SiteOptions _options;
    private readonly DictionaryHistory _history;
    private readonly PageDictionaries? _pages;
    private readonly Func<Asset, bool> _isRestricted;
    private readonly PlanScratch _scratch = new();
    private readonly Action<Exception> _failed;
    private readonly TimeProvider _clock;
    private readonly ChangeBackoff _backoff;
    private readonly ProcessorShare _share;

    /// <summary>The files of families, and whether the history had room for them.</summary>
    private readonly Dictionary<Asset, (string Family, DictionaryHash Hash, bool IsStored)> _enrolled = [];

    /// <summary>The dictionaries that could not be read, and when.</summary>
    private readonly Dictionary<DictionaryHash, long> _unread = [];

    /// <summary>The work on the last snapshot that was seen.</summary>
    private DictionaryRound? _round;

    /// <summary>What had no room, with the bytes that each takes: it is not coded again before that much is free.</summary>
    private readonly Dictionary<(Asset Asset, DictionaryHash Hash, ContentCoding Coding), (string Family, long Bytes)> _refused = [];
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
        _share = new ProcessorShare(clock, options.DictionaryProcessorPercent, Slice);
    }

    /// <summary>The codings that are made, in this order.</summary>
    public IReadOnlyList<DictionaryCoder> Coders { private get; init; } = DictionaryCoder.OfSystem;

    /// <summary>The time until it has more to do without a change of the site; null for nothing.</summary>
    public TimeSpan? NextDue => _share.Pause ?? _backoff.NextDue;

    /// <summary>Whether more is to be made when memory is freed.</summary>
    public bool IsShortOfMemory => _refused.Count > 0;

    /// <summary>The variants that were made so far. Any thread.</summary>
    public long Made => Volatile.Read(ref _made);

    /// <summary>Works for a slice, or until the site changes, and always makes progress. What is left is due later.</summary>
    public void Run(CancellationToken stop)
    {
        _backoff.Begin();
        if (!ZstdLibrary.TryLoad(out ZstdLibrary? library) || !_share.TryBegin())
        {
            return;
        }

        try
        {
            if (FindRound(stop) is { } round && Enrol(round, stop) && UpdatePages(library, round, stop))
            {
                Code(round, stop);
            }
        }
        finally
        {
            _share.End();
        }
    }

    /// <summary>The work on the present snapshot, as far as it has come; null if it was cancelled.</summary>
    private DictionaryRound? FindRound(CancellationToken stop)
    {
        bool hasChanged = _history.Refresh();
        CatalogSnapshot snapshot = _catalog.Acquire();
        try
        {
            if (_round?.Snapshot != snapshot)
            {
                _round = DictionaryRound.TryBegin(snapshot, MayUse, IsOfFamily, FamilyMax, Coders, stop);
                ForgetRetired();
            }
            else if (hasChanged)
            {
                _round.Restart();
            }

            return _round;
        }
        finally
        {
            snapshot.Release();
        }
    }

    /// <summary>Forgets what was noted of files that the site has no more, and of dictionaries that the history has no more.</summary>
    private void ForgetRetired()
    {
        foreach (Asset retired in _enrolled.Keys.Where(static asset => asset.IsRetired).ToArray())
        {
            _enrolled.Remove(retired);
        }

        foreach (var (key, (family, _)) in _refused.ToArray())
        {
            if (key.Asset.IsRetired || !_history.Contains(family, key.Hash))
            {
                _refused.Remove(key);
            }
        }
    }

    private bool MayUse(Asset asset) =>
        asset.Size <= Math.Min(_options.DictionaryFileBytesMax, BodyCoder.BytesMax) && !_isRestricted(asset);

    private bool IsOfFamily(Asset asset) => _options.Dictionaries && asset.HasHashedName;

    /// <summary>Adds the files of families to the history. False if time is up, or the site has changed after some were added.</summary>
    private bool Enrol(DictionaryRound round, CancellationToken stop)
    {
        bool hasWorked = false;
        for (; round.FilesDone < round.Files.Count; round.FilesDone++)
        {
            (Asset asset, string family) = round.Files[round.FilesDone];
            bool isKnown = _enrolled.TryGetValue(asset, out (string Family, DictionaryHash Hash, bool IsStored) known)
                && (!known.IsStored || _history.MarkCurrent(family, known.Hash));
            if (!isKnown)
            {
                if (MustStop(round, hasWorked, stop))
                {
                    return false;
                }

                hasWorked |= !asset.IsRetired;
                Guarded(() => EnrolOne(asset, family));
            }

            if (_enrolled.TryGetValue(asset, out known))
            {
                round.Present.Add((family, known.Hash));
            }
        }

        if (!round.IsEnrolled)
        {
            round.IsEnrolled = true;
            RetireEarlier(round);
        }

        return !MustStop(round, hasWorked, stop);
    }

    /// <summary>Notes what is present, the dictionary of pages included.</summary>
    private void RetireEarlier(DictionaryRound round)
    {
        round.Present.RemoveWhere(static one => one.Family == PageDictionaries.Family);
        if (_pages?.Current is { } page && _history.TryAdd(PageDictionaries.Family, page.Hash, page.Bytes))
        {
            round.Present.Add((PageDictionaries.Family, page.Hash));
        }

        _history.Retire(round.Present);
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

    /// <summary>Trains the dictionary of pages if it is due. False if it was cancelled.</summary>
    private bool UpdatePages(ZstdLibrary library, DictionaryRound round, CancellationToken stop)
    {
        if (_pages is null || round.HasPages)
        {
            return true;
        }

        Asset[] pages = [.. round.Assets.Where(DictionaryFamily.IsPage)];
        foreach (Asset page in pages.Where(static page => page.Dictionary is null))
        {
            _catalog.SetDictionary(page, new AssetDictionary([], isPage: true));
        }

        // The rules of a later snapshot may keep pages from everybody: their text must not be in the dictionary.
        if (_catalog.Current == round.Snapshot)
        {
            Guarded(() => _pages.Update(
                library, [.. pages.Where(page => PageDictionaries.MayTeach(page, round.Snapshot.Rules, _scratch))], stop));
            if (!stop.IsCancellationRequested)
            {
                round.HasPages = true;
                RetireEarlier(round);
            }
        }

        // Whatever it took, a file is coded in this slice: the site may have changed again before the next one.
        return !stop.IsCancellationRequested;
    }

    private void Code(DictionaryRound round, CancellationToken stop)
    {
        StoredDictionary[] pages =
            _pages is null ? [] : [.. _history.Of(PageDictionaries.Family).OrderByDescending(static one => one.IsCurrent)];
        bool hasWorked = false;
        for (; round.PendingDone < round.Pending.Count; round.PendingDone++)
        {
            if (stop.IsCancellationRequested)
            {
                return;
            }

            (Asset asset, DictionaryCoder coder) = round.Pending[round.PendingDone];
            if (asset.IsRetired)
            {
                continue;
            }

            bool isEnrolled = _enrolled.TryGetValue(asset, out (string Family, DictionaryHash Hash, bool IsStored) own);
            if (asset.Dictionary is not { } dictionary || !(dictionary.IsPage || isEnrolled))
            {
                continue;
            }

            string family = dictionary.IsPage ? PageDictionaries.Family : own.Family;
            dictionary = WithoutLost(asset, dictionary, family);
            IEnumerable<StoredDictionary> candidates = dictionary.IsPage ? pages : _history.Of(family).Where(one => one.Hash != own.Hash);
            StoredDictionary[] untried = dictionary.Variants.Length >= VariantsMax * Coders.Count ? []
                : [.. candidates.Take(DictionariesMax).Where(one => !dictionary.Tried.Contains((one.Hash, coder.Coding)))];
            bool mayBegin = !asset.HasUndecidedSiblings
                && (!dictionary.IsPage || untried.Length == 0 || _backoff.IsDue(asset.SitePath, asset));
            foreach (StoredDictionary one in mayBegin ? untried : [])
            {
                if (MustStop(round, hasWorked, stop))
                {
                    return;
                }

                Guarded(() => hasWorked |= TryCodeOne(coder, asset, dictionary, one, stop));
            }

            if (untried.Any(one => !dictionary.Tried.Contains((one.Hash, coder.Coding))))
            {
                round.Wait(asset, coder);
            }
        }

        round.EndPending();
    }

    /// <summary>Without the variants for dictionaries that the history has no more: their memory is for others.</summary>
    private AssetDictionary WithoutLost(Asset asset, AssetDictionary dictionary, string family)
    {
        if (dictionary.Tried.RemoveWhere(tried => !_history.Contains(family, tried.Hash)) > 0)
        {
            _catalog.DropVariants(asset, hash => !_history.Contains(family, hash));
        }

        return asset.Dictionary!;
    }

    /// <summary>Codes a file with a dictionary. False if it has to wait, and took no time.</summary>
    private bool TryCodeOne(
        DictionaryCoder coder, Asset asset, AssetDictionary dictionary, StoredDictionary with, CancellationToken stop)
    {
        if (IsRefused(asset, with, coder.Coding) || IsUnread(with.Hash))
        {
            return false;
        }

        // Before its result, so that an error is not met again and again.
        dictionary.Tried.Add((with.Hash, coder.Coding));
        BodyMemory memory = BodyMemory.Allocate(asset.Size, mayHoldDescriptor: false);
        try
        {
            if (_history.Read(with) is not { } bytes)
            {
                if (_history.Contains(with.Family, with.Hash))
                {
                    dictionary.Tried.Remove((with.Hash, coder.Coding));
                    _unread[with.Hash] = _clock.GetTimestamp();
                    _backoff.WaitFor(RetryAfter);
                }

                return true;
            }

            if (!AssetReader.TryRead(_catalog, asset, memory.Body))
            {
                return true;
            }

            long beganAt = _clock.GetTimestamp();
            long smallest = asset.Variants?.All.Min(static variant => variant.Size) ?? asset.Size;
            byte[]? coded = coder.TryCode(memory.Body, bytes, with.Hash, Math.Min(smallest, asset.Size), stop);
            if (dictionary.IsPage)
            {
                _backoff.Spent(asset.SitePath, asset, _clock.GetElapsedTime(beganAt));
            }

            if (coded is not null)
            {
                Publish(asset, with, coder.Coding, coded, dictionary);
            }

            return true;
        }
        finally
        {
            memory.Release();
        }
    }

    /// <summary>Whether there is no memory: not for what the file took with the dictionary before, or for nothing at all.</summary>
    private bool IsRefused(Asset asset, StoredDictionary with, ContentCoding coding)
    {
        long bytes = _refused.TryGetValue((asset, with.Hash, coding), out (string Family, long Bytes) refused)
            ? refused.Bytes
            : BodyMemory.AllocatedBytes(1);
        if (_catalog.HasRoomForDictionary(bytes))
        {
            _refused.Remove((asset, with.Hash, coding));
            return false;
        }

        _refused[(asset, with.Hash, coding)] = (with.Family, bytes);
        return true;
    }

    /// <summary>Whether a dictionary could not be read shortly before.</summary>
    private bool IsUnread(in DictionaryHash hash)
    {
        if (!_unread.TryGetValue(hash, out long at))
        {
            return false;
        }

        TimeSpan left = RetryAfter - _clock.GetElapsedTime(at);
        if (left > TimeSpan.Zero)
        {
            _backoff.WaitFor(left);
            return true;
        }

        _unread.Remove(hash);
        return false;
    }

    private void Publish(Asset asset, StoredDictionary with, ContentCoding coding, byte[] coded, AssetDictionary dictionary)
    {
        PublishOutcome outcome = _catalog.Publish(asset, with.Hash, coding, coded);
        if (outcome == PublishOutcome.NoRoom)
        {
            _refused[(asset, with.Hash, coding)] = (with.Family, BodyMemory.AllocatedBytes(coded.Length));
            dictionary.Tried.Remove((with.Hash, coding));
        }
        else if (outcome == PublishOutcome.Published)
        {
            Volatile.Write(ref _made, _made + 1);
            if (dictionary.IsPage)
            {
                _pages?.MarkUsed(with.Hash);
            }
        }
    }

    /// <param name="round">The work.</param>
    /// <param name="hasWorked">
    /// Whether this slice has made progress: without it, it goes on even if its time is up, or the site has changed. What is done for a
    /// file that was replaced meanwhile has no effect.
    /// </param>
    /// <param name="stop">Cancels it.</param>
    private bool MustStop(DictionaryRound round, bool hasWorked, CancellationToken stop) =>
        stop.IsCancellationRequested || (hasWorked && (_catalog.Current != round.Snapshot || _share.IsSpent));

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
