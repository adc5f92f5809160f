using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// The files that clients may have of earlier deployments, and those of the present one, which will be earlier ones: by family, bounded in
/// number and bytes. In a folder they survive a restart; without one, or if it cannot be written, they are in memory. One thread; the
/// totals are read by any.
/// </summary>
/// <param name="folder">The folder; null for memory.</param>
/// <param name="bytesMax">The most bytes of all.</param>
/// <param name="versionsMax">How many earlier files each present file of a family may have.</param>
/// <param name="clock">The time.</param>
/// <param name="failed">Called with errors of the folder, which are no reason to stop.</param>
/// <param name="filesMax">The most files of all.</param>
internal sealed class DictionaryHistory(
    DictionaryFolder? folder,
    long bytesMax,
    int versionsMax,
    TimeProvider clock,
    Action<Exception> failed,
    int filesMax = DictionaryHistory.FilesMax)
{
    /// <summary>What a listing of the folder takes of the background's time and memory is bounded by this.</summary>
    public const int FilesMax = 20_000;

    /// <summary>What is in memory because there is no folder, or it fails.</summary>
    public const long MemoryBytesMax = 32L * 1024 * 1024;

    /// <summary>How many earlier files a family may have, however many files it has now: names of chunks often are the same.</summary>
    private const int FamilyMax = 24;

    /// <summary>Between two looks at the folder: another server may write it, or somebody delete it.</summary>
    private static readonly TimeSpan ListAfter = TimeSpan.FromSeconds(30);

    /// <summary>Enough for file systems that store whole seconds.</summary>
    private static readonly TimeSpan RetiredBefore = TimeSpan.FromSeconds(1);

    private readonly Dictionary<(string Family, DictionaryHash Hash), StoredDictionary> _all = [];
    private readonly Dictionary<string, HashSet<DictionaryHash>> _families = new(StringComparer.Ordinal);
    private readonly HashSet<(string Family, DictionaryHash Hash)> _becameCurrent = [];

    /// <summary>Those that are not files of the site, the longest gone first.</summary>
    private readonly SortedSet<StoredDictionary> _earlier = new(new ByLastSeen());
    private long? _listedAt;

    /// <summary>Whether the folder was written, and whether it failed, since files were last retired.</summary>
    private bool _hasWritten;
    private bool _hasFailed;
    private long _bytes;
    private long _memoryBytes;
    private long _currentBytes;
    private long _countHeld;

    /// <summary>Called after a deployment for which the folder was written without an error.</summary>
    public Action? FolderSucceeded { private get; init; }

    /// <summary>The bytes of all dictionaries. Any thread.</summary>
    public long BytesHeld => Volatile.Read(ref _bytes);

    /// <summary>Their number. Any thread.</summary>
    public long CountHeld => Volatile.Read(ref _countHeld);

    /// <summary>Looks at the folder, which others may have changed, now and then. True if they have.</summary>
    public bool Refresh()
    {
        if (folder is null || (_listedAt is long at && clock.GetElapsedTime(at) < ListAfter))
        {
            return false;
        }

        _listedAt = clock.GetTimestamp();
        List<StoredDictionary>? found = Try(() => folder.List(
            _all.Values.Where(static one => one.InMemory is null)
                .ToDictionary(
                    static one => DictionaryFolder.NameOf(one.Family, one.Hash), static one => one.Family, StringComparer.Ordinal),
            filesMax,
            clock));
        if (found is null)
        {
            return false;
        }

        HashSet<(string, DictionaryHash)> present = [.. found.Select(static one => (one.Family, one.Hash))];
        StoredDictionary[] gone = [.. _all.Values.Where(one => one.InMemory is null && !present.Contains((one.Family, one.Hash)))];
        StoredDictionary[] added = [.. found.Where(one => !_all.ContainsKey((one.Family, one.Hash)))];
        Array.ForEach(gone, Forget);
        Array.ForEach(added, Put);
        return gone.Length + added.Length > 0;
    }

    public bool Contains(string family, in DictionaryHash hash) => _all.ContainsKey((family, hash));

    /// <summary>Marks a dictionary as a file of the site. False if it is not known.</summary>
    public bool MarkCurrent(string family, in DictionaryHash hash)
    {
        if (!_all.TryGetValue((family, hash), out StoredDictionary? known))
        {
            return false;
        }

        if (!known.IsCurrent)
        {
            Put(known with { IsCurrent = true });
            _becameCurrent.Add((family, hash));
        }

        return true;
    }

    /// <summary>Adds a file of the site. False if there is no room for it, not even in place of earlier ones.</summary>
    public bool TryAdd(string family, in DictionaryHash hash, ReadOnlyMemory<byte> bytes)
    {
        if (MarkCurrent(family, hash))
        {
            return true;
        }

        if (_currentBytes + bytes.Length > bytesMax || _all.Count - _earlier.Count >= filesMax)
        {
            // Not even without all earlier ones.
            return false;
        }

        var added = new StoredDictionary(family, hash, bytes.Length, clock.GetUtcNow().UtcDateTime) { IsCurrent = true };
        MakeRoom(static _ => true, () => _bytes + bytes.Length <= bytesMax && _all.Count < filesMax);
        DictionaryHash name = hash;
        if (folder is null || Try(() => Written(family, name, bytes)) is null)
        {
            MakeRoom(static one => one.InMemory is not null, () => _memoryBytes + bytes.Length <= MemoryBytesMax);
            if (_memoryBytes + bytes.Length > MemoryBytesMax)
            {
                return false;
            }

            added = added with { InMemory = bytes.ToArray() };
        }

        Put(added);
        _becameCurrent.Add((family, hash));
        return true;
    }

    /// <summary>
    /// Notes which dictionaries are files of the site now, and deletes what is too much: earlier ones of a family, then the longest gone,
    /// and at last files of the site, if there may be less of them than before a restart.
    /// </summary>
    public void Retire(IReadOnlySet<(string Family, DictionaryHash Hash)> current)
    {
        // Clients have what is retired for as long as they keep it. What the site has now comes after it, also after a restart.
        DateTime now = clock.GetUtcNow().UtcDateTime;
        foreach (StoredDictionary one in _all.Values.Where(one => one.IsCurrent && !current.Contains((one.Family, one.Hash))).ToArray())
        {
            SetSeen(one with { IsCurrent = false }, now - RetiredBefore);
        }

        foreach ((string Family, DictionaryHash Hash) key in _becameCurrent.Where(_all.ContainsKey))
        {
            SetSeen(_all[key], now);
        }

        _becameCurrent.Clear();
        foreach ((string family, HashSet<DictionaryHash> hashes) in _families.Where(one => one.Value.Count > versionsMax).ToArray())
        {
            Trim(family, hashes);
        }

        MakeRoom(static _ => true, Fits);
        foreach (StoredDictionary one in Fits() ? [] : _all.Values.OrderBy(static one => one.LastSeen).ToArray())
        {
            if (!Fits())
            {
                Delete(one);
            }
        }

        if (_hasWritten && !_hasFailed)
        {
            FolderSucceeded?.Invoke();
        }

        _hasWritten = _hasFailed = false;
    }

    /// <summary>
    /// The dictionaries of a family: earlier ones first, the last seen before all, then those of files that the site has now.
    /// </summary>
    public IEnumerable<StoredDictionary> Of(string family) => !_families.TryGetValue(family, out HashSet<DictionaryHash>? hashes) ? [] :
        hashes.Select(hash => _all[(family, hash)])
            .OrderBy(static one => one.IsCurrent)
            .ThenByDescending(static one => one.LastSeen)
            .ThenBy(static one => one.Hash.First);

    /// <summary>
    /// The bytes of a dictionary; null if they are lost or changed, and it is forgotten, or if they cannot be read now, and it is still
    /// <see cref="Contains">contained</see>.
    /// </summary>
    public byte[]? Read(StoredDictionary dictionary)
    {
        if (dictionary.InMemory is { } bytes)
        {
            return bytes;
        }

        try
        {
            byte[]? read = folder?.Read(dictionary);
            if (read is null)
            {
                Forget(dictionary);
            }

            return read;
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            // It says nothing about the file: the process may have too many open ones, or the disk be away for a while.
            Fail(error);
            return null;
        }
    }

    private bool Fits() => _bytes <= bytesMax && _all.Count <= filesMax;

    private void Trim(string family, HashSet<DictionaryHash> hashes)
    {
        int present = hashes.Count(hash => _all[(family, hash)].IsCurrent);
        int most = Math.Min(FamilyMax, versionsMax * Math.Max(1, present));
        foreach (StoredDictionary surplus in Of(family).Where(static one => !one.IsCurrent).Skip(most).ToArray())
        {
            Delete(surplus);
        }
    }

    /// <summary>Deletes earlier ones, the longest gone first, until there is room.</summary>
    private void MakeRoom(Func<StoredDictionary, bool> counts, Func<bool> hasRoom)
    {
        while (!hasRoom() && _earlier.FirstOrDefault(counts) is { } old)
        {
            Delete(old);
        }
    }

    /// <summary>Adds or replaces what is known of a dictionary.</summary>
    private void Put(StoredDictionary one)
    {
        Forget(one);
        _all[(one.Family, one.Hash)] = one;
        if (!_families.TryGetValue(one.Family, out HashSet<DictionaryHash>? hashes))
        {
            hashes = [];
            _families.Add(one.Family, hashes);
        }

        hashes.Add(one.Hash);
        if (!one.IsCurrent)
        {
            _earlier.Add(one);
        }

        Count(one, 1);
    }

    private void Delete(StoredDictionary one)
    {
        Forget(one);
        if (one.InMemory is null)
        {
            folder?.Delete(one);
        }
    }

    private void Forget(StoredDictionary one)
    {
        if (!_all.Remove((one.Family, one.Hash), out StoredDictionary? known))
        {
            return;
        }

        _earlier.Remove(known);
        HashSet<DictionaryHash> hashes = _families[one.Family];
        hashes.Remove(one.Hash);
        if (hashes.Count == 0)
        {
            _families.Remove(one.Family);
        }

        Count(known, -1);
    }

    private void Count(StoredDictionary one, int sign)
    {
        Volatile.Write(ref _bytes, _bytes + (sign * one.Bytes));
        _memoryBytes += one.InMemory is null ? 0 : sign * one.Bytes;
        _currentBytes += one.IsCurrent ? sign * one.Bytes : 0;
        Volatile.Write(ref _countHeld, _countHeld + sign);
    }

    private DictionaryHistory Written(string family, in DictionaryHash hash, ReadOnlyMemory<byte> bytes)
    {
        folder!.Write(family, hash, bytes.Span);
        _hasWritten = true;
        return this;
    }

    private void SetSeen(StoredDictionary one, DateTime at)
    {
        Put(one with { LastSeen = at });
        if (one.InMemory is null)
        {
            _ = Try(() => Touched(one, at));
        }
    }

    private DictionaryHistory Touched(StoredDictionary one, DateTime at)
    {
        folder!.Touch(one, at);
        return this;
    }

    /// <summary>Null if the folder failed, which is reported.</summary>
    private T? Try<T>(Func<T?> read)
        where T : class
    {
        try
        {
            return read();
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            Fail(error);
            return null;
        }
    }

    private void Fail(Exception error)
    {
        _hasFailed = true;
        failed(error);
    }

    private sealed class ByLastSeen : IComparer<StoredDictionary>
    {
        public int Compare(StoredDictionary? left, StoredDictionary? right)
        {
            return KeyOf(left!).CompareTo(KeyOf(right!)) is var order and not 0
                ? order
                : string.CompareOrdinal(left!.Family, right!.Family);
        }

        private static (DateTime, ulong, ulong, ulong, ulong) KeyOf(StoredDictionary one) =>
            (one.LastSeen, one.Hash.First, one.Hash.Second, one.Hash.Third, one.Hash.Fourth);
    }
}
