using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Archives;

/// <summary>A file or a directory of an archive. Small: a zip archive keeps all of its entries until its end.</summary>
/// <param name="Subtree">Where in the archive it is.</param>
/// <param name="Path">Its path in the site.</param>
/// <param name="File">The file; null for a directory.</param>
/// <param name="ModifiedAtNs">Nanoseconds since 1970.</param>
internal readonly record struct ArchiveEntry(ArchiveSubtree Subtree, SitePath Path, Asset? File, long ModifiedAtNs)
{
    public long ModifiedAtSeconds => (long)Math.Floor(ModifiedAtNs / 1e9);

    /// <summary>Its name in the archive: relative, without dot segments, and with '/' at the end for a directory.</summary>
    public byte[] Name() => [.. Subtree.NameOf(Path), .. File is null ? "/"u8 : default];
}

/// <summary>
/// The part of an archive that holds the tree below one directory of the site: the archived one, or one that a link in it leads to.
/// Immutable.
/// </summary>
/// <param name="name">The directory's name in the archive, without '/' at the end.</param>
/// <param name="urlPath">The directory's path in URLs, without '/' at the end.</param>
/// <param name="directory">The directory's path in the site.</param>
internal sealed class ArchiveSubtree(byte[] name, byte[] urlPath, SitePath directory)
{
    /// <summary>Whether paths in URLs are the paths in the site.</summary>
    public bool HasOwnPaths { get; } = urlPath.AsSpan().SequenceEqual(directory.Bytes);

    public byte[] NameOf(SitePath path) => [.. name, .. Below(path)];

    public byte[] UrlPathOf(SitePath path) => [.. urlPath, .. Below(path)];

    public int UrlPathBytesOf(SitePath path) => urlPath.Length + Below(path).Length;

    private ReadOnlySpan<byte> Below(SitePath path) => path.Bytes[directory.Bytes.Length..];
}
