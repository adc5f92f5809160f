namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// The directories of a site by path. Immutable: a change copies references; the hash index is rebuilt only when directories are added or
/// removed.
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
        HasAliases = Array.Exists(directories, static directory => directory.Aliases.Count > 0);
    }

    /// <summary>Whether some directory has several paths.</summary>
    public bool HasAliases { get; }

    public ReadOnlySpan<SiteDirectory> Directories => _directories;

    /// <summary>
    /// The directory that a path leads to, directly or through aliases, or null. A path that is not a primary path is resolved a name at a
    /// time, as the kernel does. Adds the aliases on the path to <paramref name="aliases"/>.
    /// </summary>
    public SiteDirectory? Resolve(ReadOnlySpan<byte> path, ICollection<AliasMatch>? aliases = null)
    {
        SiteDirectory? found = Find(path);
        return found is null && HasAliases && path.Length <= SitePath.BytesMax ? Walk(path, aliases) : found;
    }

    /// <summary>The directory with this primary path, or null.</summary>
    public SiteDirectory? Find(ReadOnlySpan<byte> path)
    {
        int index = IndexOf(path);
        return index < 0 ? null : _directories[index];
    }

    /// <summary>A copy of the table with some directories replaced or added, and others removed.</summary>
    public DirectoryTable With(IReadOnlyCollection<SiteDirectory> listed, IReadOnlySet<SitePath> left)
    {
        var directories = (SiteDirectory[])_directories.Clone();
        var added = new List<SiteDirectory>();
        foreach (SiteDirectory directory in listed)
        {
            int index = IndexOf(directory.Path);
            if (index >= 0)
            {
                directories[index] = directory;
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

    private SiteDirectory? Walk(ReadOnlySpan<byte> path, ICollection<AliasMatch>? aliases)
    {
        Span<byte> buffer = stackalloc byte[SitePath.BytesMax + 1 + SitePath.NameBytesMax];
        SiteDirectory? current = Find([]);
        int aliasCount = 0;
        for (int at = 0; at < path.Length && current is not null;)
        {
            ReadOnlySpan<byte> name = SitePath.FirstSegment(path[(at + 1)..]);
            at += 1 + name.Length;
            if (name.Length > SitePath.NameBytesMax)
            {
                return null;
            }

            if (current.FindAlias(name) is { } alias)
            {
                aliases?.Add(new AliasMatch(current, alias, at));
                current = ++aliasCount > SitePath.SymlinksMax ? null : Find(alias.Target.Bytes);
                continue;
            }

            int bytes = current.Path.Length;
            current.Path.CopyTo(buffer);
            buffer[bytes++] = (byte)'/';
            name.CopyTo(buffer[bytes..]);
            current = Find(buffer[..(bytes + name.Length)]);
        }

        return current;
    }

    private int IndexOf(ReadOnlySpan<byte> path)
    {
        // Longer than any known path: not worth hashing.
        if (path.Length > _longestBytes)
        {
            return -1;
        }

        HashIndex.Candidates candidates = _byPath.Find(PathHash.Of(path));
        while (candidates.MoveNext(out int index))
        {
            if (_directories[index].Path.SequenceEqual(path))
            {
                return index;
            }
        }

        return -1;
    }
}

/// <summary>An alias on a path, in its directory, and the length of the path up to and including its name.</summary>
internal readonly record struct AliasMatch(SiteDirectory Holder, DirectoryAlias Alias, int Bytes);
