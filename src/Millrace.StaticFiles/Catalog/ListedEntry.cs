namespace Millrace.StaticFiles.Catalog;

/// <summary>An entry of a <see cref="DirectoryListing"/>.</summary>
internal readonly ref struct ListedEntry
{
    public static ListedEntry Of(SiteDirectory directory) => new()
    {
        Name = directory.SitePath.Name,
        IsDirectory = true,
        ModifiedAtNs = directory.State.ModifiedAtNs,
    };

    public static ListedEntry Of(Asset file) => new()
    {
        Name = file.SitePath.Name,
        Size = file.Size,
        ModifiedAtNs = file.ModifiedAtNs,
    };

    /// <summary>Its bytes as the file system has them, no text.</summary>
    public ReadOnlySpan<byte> Name { get; private init; }

    public bool IsDirectory { get; private init; }

    /// <summary>In bytes; of a directory 0.</summary>
    public long Size { get; private init; }

    /// <summary>Nanoseconds since 1970.</summary>
    public long ModifiedAtNs { get; private init; }
}
