using Millrace.StaticFiles.Scanning;

namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// A directory entry (a symlink, say) that leads to a directory of the site which is listed under another, its primary path. Immutable.
/// </summary>
/// <param name="Path">The entry's own path.</param>
/// <param name="Target">The directory's primary path.</param>
/// <param name="State">The directory when the entry was read.</param>
internal readonly record struct DirectoryAlias(SitePath Path, SitePath Target, FileState State)
{
    /// <summary>Whether both lead to the same directory, whatever its entries.</summary>
    public bool IsSameAs(in DirectoryAlias other) =>
        Path.Equals(other.Path) && Target.Equals(other.Target) && State.IsSameFile(other.State);
}
