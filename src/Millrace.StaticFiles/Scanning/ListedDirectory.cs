using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>A directory while a scan reads it; becomes a <see cref="SiteDirectory"/>.</summary>
internal sealed class ListedDirectory(SitePath path, SiteDirectory? previous, DirectoryChain? parent)
{
    public SitePath Path { get; } = path;

    public SiteDirectory? Previous { get; } = previous;

    public DirectoryChain? Parent { get; } = parent;

    /// <summary>
    /// Whether it is another directory than before, or is below one. Then nothing below it is taken as unchanged, because relative symlinks
    /// lead elsewhere now.
    /// </summary>
    public bool IsNew { get; set; }

    /// <summary>The only names whose entries are checked; null for all.</summary>
    public IReadOnlyCollection<byte[]>? Names { get; set; }

    /// <summary>Taken from the descriptor that is listed, before listing.</summary>
    public FileState State { get; set; }

    /// <summary>A time before it was listed.</summary>
    public long CheckedAtNs { get; set; }

    public bool IsComplete { get; set; } = true;

    public bool HasSymlinks { get; set; }

    public int EntryCount { get; set; }

    public int SkippedCount { get; set; }

    public List<SitePath> Unserved { get; } = [];

    public List<ListedFile> Files { get; private set; } = [];

    public HashSet<SitePath> Subdirectories { get; } = [];

    /// <summary>Its entries that lead to directories listed under another path.</summary>
    public List<DirectoryAlias> Aliases { get; } = [];

    /// <summary>Whether its path contains a symlink.</summary>
    public bool IsBelowLink { get; init; }

    public DirectoryChain Chain => new(State, Parent);

    /// <summary>
    /// Whether some entries can be checked and the others taken as unchanged: it is the same directory as before, and each of its entries
    /// was a plain file or directory.
    /// </summary>
    public bool CanCarryOver =>
        !IsNew && Previous is { IsComplete: true, HasSymlinks: false, SkippedCount: 0, IsBelowLink: false, Aliases.Count: 0 };

    /// <summary>Carries over the previous entries except for the checked names.</summary>
    public void CarryOver(IEnumerable<ListedFile> found)
    {
        var checkedNames = new HashSet<byte[]>(Names!, BytesComparer.Instance);
        HashSet<byte[]>.AlternateLookup<ReadOnlySpan<byte>> byName = checkedNames.GetAlternateLookup<ReadOnlySpan<byte>>();
        EntryCount += Previous!.EntryCount;
        foreach (Asset asset in Previous.Assets)
        {
            if (byName.Contains(asset.SitePath.Name))
            {
                EntryCount--;
            }
            else
            {
                Files.Add(new ListedFile(asset.SitePath, asset.State) { Previous = asset });
            }
        }

        foreach (ListedFile file in found)
        {
            Files.Insert(~IndexOf(file.Path.Name), file);
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
    /// Sorts the files by name, for lookups and listings, and removes duplicates: a rename into a directory during its listing can show one
    /// twice.
    /// </summary>
    public void Order()
    {
        Files.Sort((left, right) => left.Path.Name.SequenceCompareTo(right.Path.Name));
        Files = [.. Files.Where((file, i) => i == 0 || !file.Path.Equals(Files[i - 1].Path))];
    }

    /// <summary>Finds a file by its name; after <see cref="Order"/>.</summary>
    public ListedFile? Find(ReadOnlySpan<byte> name) => IndexOf(name) is >= 0 and int index ? Files[index] : null;

    /// <summary>Makes the snapshot's directory, after the files have their assets.</summary>
    public SiteDirectory Finish(IEnumerable<byte[]> indexNames)
    {
        Asset[] assets = [.. Files.Select(file => file.Asset).OfType<Asset>()];
        FindHashedNames(assets);
        return new(Path, State, assets, [.. Subdirectories.Order(SitePath.ByBytes)])
        {
            Index = indexNames.Select(name => Find(name)?.Asset).FirstOrDefault(asset => asset is not null),
            IsComplete = IsComplete,
            IsSettled = Names is null && State.IsSettledAt(CheckedAtNs),
            HasSymlinks = HasSymlinks,
            Aliases = [.. Aliases.OrderBy(static alias => alias.Path, SitePath.ByBytes)],
            IsBelowLink = IsBelowLink,
            EntryCount = EntryCount,
            SkippedCount = SkippedCount,
            Unserved = [.. Unserved],
        };
    }

    private int IndexOf(ReadOnlySpan<byte> name) => SitePath.IndexOfName(Files, static file => file.Path, name);

    private static void FindHashedNames(Asset[] assets)
    {
        var names = new HashedNames();
        foreach (Asset asset in assets)
        {
            names.Add(asset.Path);
        }

        foreach (Asset asset in assets)
        {
            asset.HasHashedName = names.Contains(asset.Path);
        }
    }
}

/// <summary>A directory and those that contain it, by identity.</summary>
internal sealed record DirectoryChain(FileState State, DirectoryChain? Parent)
{
    /// <summary>Whether a directory is this one or one that contains it: only a symlink to such a directory makes a scan endless.</summary>
    public bool Contains(in FileState directory)
    {
        for (DirectoryChain? chain = this; chain is not null; chain = chain.Parent)
        {
            if (chain.State.IsSameFile(directory))
            {
                return true;
            }
        }

        return false;
    }
}

/// <summary>A regular file that a scan met, and its asset.</summary>
internal sealed class ListedFile(SitePath path, in FileState state)
{
    public SitePath Path { get; } = path;

    public FileState State { get; } = state;

    /// <summary>The previous snapshot's asset, if no change of this name was reported.</summary>
    public Asset? Previous { get; init; }

    /// <summary>The previous snapshot's asset, or one loaded for the next, or null if it cannot be served.</summary>
    public Asset? Asset { get; set; }

    /// <summary>Whether the asset is part of the previous snapshot and therefore fixed.</summary>
    public bool IsCarriedOver { get; set; }
}
