namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// The visible entries of a directory, to be listed: directories first, then files, each by name. Enumerate it under a lease on its
/// snapshot.
/// </summary>
internal ref struct DirectoryListing
{
    private readonly SiteDirectory _directory;
    private readonly DirectoryTable _table;
    private int _next;
    private int _nextAlias;

    internal DirectoryListing(SiteDirectory directory, DirectoryTable table)
    {
        _directory = directory;
        _table = table;
    }

    public ListedEntry Current { get; private set; }

    public readonly DirectoryListing GetEnumerator() => this;

    public bool MoveNext()
    {
        IReadOnlyList<SitePath> subdirectories = _directory.Subdirectories;
        IReadOnlyList<DirectoryAlias> aliases = _directory.Aliases;
        while (_next < subdirectories.Count || _nextAlias < aliases.Count)
        {
            bool isAlias = _next >= subdirectories.Count || (_nextAlias < aliases.Count
                && aliases[_nextAlias].Path.Name.SequenceCompareTo(subdirectories[_next].Name) < 0);
            SitePath path = isAlias ? aliases[_nextAlias].Path : subdirectories[_next];
            if (_table.Find((isAlias ? aliases[_nextAlias++].Target : subdirectories[_next++]).Bytes) is SiteDirectory subdirectory)
            {
                Current = ListedEntry.Of(subdirectory, path);
                return true;
            }
        }

        int file = _next - subdirectories.Count;
        if (file == _directory.Assets.Length)
        {
            return false;
        }

        Current = ListedEntry.Of(_directory.Assets[file]);
        _next++;
        return true;
    }
}

/// <summary>An entry of a <see cref="DirectoryListing"/>.</summary>
internal readonly ref struct ListedEntry
{
    /// <param name="directory">A directory.</param>
    /// <param name="path">The path it is listed by.</param>
    public static ListedEntry Of(SiteDirectory directory, SitePath path) => new()
    {
        Name = path.Name,
        IsDirectory = true,
        ModifiedAtNs = directory.State.ModifiedAtNs,
    };

    public static ListedEntry Of(Asset file) => new()
    {
        Name = file.SitePath.Name,
        Size = file.Size,
        ModifiedAtNs = file.ModifiedAtNs,
    };

    /// <summary>The bytes of its file name, not necessarily valid UTF-8.</summary>
    public ReadOnlySpan<byte> Name { get; private init; }

    public bool IsDirectory { get; private init; }

    /// <summary>In bytes; 0 for a directory.</summary>
    public long Size { get; private init; }

    /// <summary>Nanoseconds since 1970.</summary>
    public long ModifiedAtNs { get; private init; }
}
