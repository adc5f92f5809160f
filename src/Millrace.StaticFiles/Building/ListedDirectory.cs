using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>A directory while a walk reads it: what is going to be its <see cref="SiteDirectory"/>.</summary>
/// <param name="path">Its path.</param>
/// <param name="previous">What stood at that path in the snapshot before.</param>
/// <param name="parent">The directories it lies in.</param>
internal sealed class ListedDirectory(SitePath path, SiteDirectory? previous, Place? parent)
{
    public SitePath Path { get; } = path;

    public SiteDirectory? Previous { get; } = previous;

    public Place? Parent { get; } = parent;

    /// <summary>
    /// Whether it is another directory than the one before, or lies in such a one: then nothing below it is taken for known, as
    /// relative symlinks lead elsewhere now.
    /// </summary>
    public bool IsNew { get; set; }

    /// <summary>The only names whose entries are looked at; null: all of them are.</summary>
    public IReadOnlyCollection<byte[]>? Names { get; set; }

    /// <summary>From the descriptor it is listed by, before it is.</summary>
    public FileState State { get; set; }

    /// <summary>A time before it was listed.</summary>
    public long LookedAtNs { get; set; }

    public bool IsComplete { get; set; } = true;

    public bool HasSymlinks { get; set; }

    public int EntryCount { get; set; }

    public int SkippedCount { get; set; }

    public List<SitePath> Unserved { get; } = [];

    public List<ListedFile> Files { get; private set; } = [];

    public HashSet<SitePath> Subdirectories { get; } = [];

    public Place Place => new(State, Parent);

    /// <summary>
    /// Whether some of its entries can be looked at and the others be taken for what they were: if it is the directory of before, and
    /// each of these was a file or a directory in it.
    /// </summary>
    public bool CanBeKept => !IsNew && Previous is { IsComplete: true, HasSymlinks: false, SkippedCount: 0 };

    /// <summary>Takes over all but the names that are looked at.</summary>
    /// <param name="found">The files that these are now.</param>
    public void Keep(IEnumerable<ListedFile> found)
    {
        var looked = new HashSet<byte[]>(Names!, PathBytes.Comparer);
        HashSet<byte[]>.AlternateLookup<ReadOnlySpan<byte>> byName = looked.GetAlternateLookup<ReadOnlySpan<byte>>();
        EntryCount += Previous!.EntryCount;
        using IEnumerator<ListedFile> next = found.OrderBy(file => file.Path, SitePath.ByBytes).GetEnumerator();
        bool isLeft = next.MoveNext();
        foreach (Asset asset in Previous.Assets)
        {
            if (byName.Contains(asset.SitePath.Name))
            {
                EntryCount--;
                continue;
            }

            for (; isLeft && next.Current.Path.Bytes.SequenceCompareTo(asset.Path) < 0; isLeft = next.MoveNext())
            {
                Files.Add(next.Current);
            }

            Files.Add(new ListedFile(asset.SitePath, asset.State) { Kept = asset });
        }

        for (; isLeft; isLeft = next.MoveNext())
        {
            Files.Add(next.Current);
        }

        foreach (SitePath subdirectory in Previous.Subdirectories)
        {
            if (!byName.Contains(subdirectory.Name))
            {
                Subdirectories.Add(subdirectory);
            }
            else
            {
                EntryCount--;
            }
        }
    }

    /// <summary>
    /// Orders the files by name, for lookups among them and for listings; a directory that is renamed into while it is listed may show
    /// one twice.
    /// </summary>
    public void Order()
    {
        Files.Sort((left, right) => left.Path.Name.SequenceCompareTo(right.Path.Name));
        Files = [.. Files.Where((file, i) => i == 0 || !file.Path.Equals(Files[i - 1].Path))];
    }

    /// <summary>A file by its name, once they are ordered.</summary>
    public ListedFile? Find(ReadOnlySpan<byte> name)
    {
        int low = 0;
        int high = Files.Count - 1;
        while (low <= high)
        {
            int middle = (low + high) / 2;
            int order = Files[middle].Path.Name.SequenceCompareTo(name);
            if (order == 0)
            {
                return Files[middle];
            }

            (low, high) = order < 0 ? (middle + 1, high) : (low, middle - 1);
        }

        return null;
    }

    /// <summary>The directory as a part of a snapshot, once its files have their assets.</summary>
    public SiteDirectory Finish(IEnumerable<byte[]> indexNames) =>
        new(
            Path,
            State,
            [.. Files.Select(file => file.Asset).OfType<Asset>()],
            [.. Subdirectories.Order(SitePath.ByBytes)])
        {
            Index = indexNames.Select(name => Find(name)?.Asset).FirstOrDefault(asset => asset is not null),
            IsComplete = IsComplete,
            IsSettled = Names is null && State.IsSettledAt(LookedAtNs),
            HasSymlinks = HasSymlinks,
            EntryCount = EntryCount,
            SkippedCount = SkippedCount,
            Unserved = [.. Unserved],
        };
}
