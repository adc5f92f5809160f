namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// The directories of a site by path. Immutable: a change copies the references to those that stay, and nothing they refer to; only one
/// that adds or removes some also orders the hashes anew.
/// </summary>
internal sealed class DirectoryTable
{
    public static readonly DirectoryTable Empty = new([]);

    private readonly SiteDirectory[] _directories;
    private readonly HashIndex _byPath;
    private readonly int _longestBytes;

    private DirectoryTable(SiteDirectory[] directories)
        : this(directories, HashIndex.Of<SiteDirectory>(directories, directory => directory.PathHash),
            directories.Select(directory => directory.Path.Length).DefaultIfEmpty(-1).Max())
    {
    }

    private DirectoryTable(SiteDirectory[] directories, HashIndex byPath, int longestBytes)
    {
        _directories = directories;
        _byPath = byPath;
        _longestBytes = longestBytes;
    }

    public ReadOnlySpan<SiteDirectory> Directories => _directories;

    /// <summary>The directory of a path, or null.</summary>
    public SiteDirectory? Find(ReadOnlySpan<byte> path)
    {
        int place = PlaceOf(path);
        return place < 0 ? null : _directories[place];
    }

    /// <summary>The table with directories in place of those with the same path, or added, and without those that left.</summary>
    public DirectoryTable With(IReadOnlyCollection<SiteDirectory> listed, IReadOnlySet<SitePath> left)
    {
        var directories = (SiteDirectory[])_directories.Clone();
        var added = new List<SiteDirectory>();
        foreach (SiteDirectory directory in listed)
        {
            int place = PlaceOf(directory.Path);
            if (place >= 0)
            {
                directories[place] = directory;
            }
            else
            {
                added.Add(directory);
            }
        }

        return added.Count == 0 && left.Count == 0
            ? new DirectoryTable(directories, _byPath, _longestBytes)
            : new DirectoryTable([.. directories.Where(directory => !left.Contains(directory.SitePath)), .. added]);
    }

    private int PlaceOf(ReadOnlySpan<byte> path)
    {
        // A hostile path of 8 KB is not worth hashing.
        if (path.Length > _longestBytes)
        {
            return -1;
        }

        HashIndex.Candidates candidates = _byPath.Find(PathHash.Of(path));
        while (candidates.MoveNext(out int place))
        {
            if (_directories[place].Path.SequenceEqual(path))
            {
                return place;
            }
        }

        return -1;
    }
}
