using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Listings;

/// <summary>Makes the entries of a directory's listing.</summary>
internal static class ListingEntries
{
    /// <summary>The caller has a lease on the snapshot.</summary>
    public static ListingEntry[] Of(CatalogSnapshot snapshot, SiteDirectory directory)
    {
        var entries = new List<ListingEntry>(directory.Assets.Length + directory.Subdirectories.Count);
        foreach (ListedEntry entry in snapshot.List(directory))
        {
            ListingEntryKind kind = entry.IsDirectory ? ListingEntryKind.Directory : ListingEntryKind.File;
            entries.Add(new ListingEntry(entry.Name.ToArray(), kind, entry.Size, entry.ModifiedAtNs));
        }

        return [.. entries];
    }
}
