namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// One request's hold on a snapshot, from its plan to the last byte of its body. <see cref="Release"/> is owed exactly once.
/// </summary>
internal readonly struct SnapshotLease(SharedAdoption adoption, int stripe)
{
    public CatalogSnapshot Snapshot => adoption.Snapshot;

    /// <summary>Any thread may.</summary>
    public void Release() => adoption.Exit(stripe);
}
