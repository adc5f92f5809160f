namespace Millrace.StaticFiles.Snapshots;

/// <summary>The totals of a snapshot's directories, updated by difference so that a swap counts nothing that stays.</summary>
internal readonly record struct SnapshotTotals
{
    public int Assets { get; private init; }

    public int Directories { get; private init; }

    public int Entries { get; private init; }

    public int Skipped { get; private init; }

    /// <summary>Memory of bodies, alignment included.</summary>
    public long InMemoryBytes { get; private init; }

    public int Descriptors { get; private init; }

    /// <summary>Bytes read for tags.</summary>
    public long HashedBytes { get; private init; }

    public SnapshotTotals Plus(SiteDirectory directory) => With(directory, 1);

    public SnapshotTotals Minus(SiteDirectory directory) => With(directory, -1);

    private SnapshotTotals With(SiteDirectory directory, int sign)
    {
        long inMemoryBytes = 0;
        long hashedBytes = 0;
        int descriptors = 0;
        foreach (Asset asset in directory.Assets)
        {
            inMemoryBytes += asset.InMemoryBytes;
            hashedBytes += asset.HashedBytes;
            descriptors += asset.Descriptor != Asset.NoDescriptor ? 1 : 0;
        }

        return new SnapshotTotals
        {
            Assets = Assets + (sign * directory.Assets.Length),
            Directories = Directories + sign,
            Entries = Entries + (sign * directory.EntryCount),
            Skipped = Skipped + (sign * directory.SkippedCount),
            InMemoryBytes = InMemoryBytes + (sign * inMemoryBytes),
            HashedBytes = HashedBytes + (sign * hashedBytes),
            Descriptors = Descriptors + (sign * descriptors),
        };
    }
}
