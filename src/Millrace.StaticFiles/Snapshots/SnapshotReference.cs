namespace Millrace.StaticFiles.Snapshots;

/// <summary>
/// One request's reference to a snapshot, from its plan to the last byte of its body. <see cref="Release"/> must be called exactly once.
/// </summary>
internal readonly struct SnapshotReference(StripedSnapshotLease lease, int stripe)
{
    public CatalogSnapshot Snapshot => lease.Snapshot;

    /// <summary>Ends the request. Any thread.</summary>
    public void Release() => lease.Exit(stripe);
}
