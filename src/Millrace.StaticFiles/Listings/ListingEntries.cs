using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Listings;

/// <summary>What a directory of a site shows.</summary>
internal static class ListingEntries
{
    /// <summary>Under a lease on the snapshot.</summary>
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
