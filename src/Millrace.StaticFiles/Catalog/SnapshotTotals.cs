namespace Millrace.StaticFiles.Catalog;

/// <summary>What the directories of a snapshot add up to. Kept by what comes and goes: a swap counts nothing that stays.</summary>
internal readonly record struct SnapshotTotals
{
    public int Assets { get; private init; }

    public int Directories { get; private init; }

    public int Entries { get; private init; }

    public int Skipped { get; private init; }

    /// <summary>Memory of bodies, what alignment costs included.</summary>
    public long BakedBytes { get; private init; }

    public int Descriptors { get; private init; }

    /// <summary>Bytes that were read for tags.</summary>
    public long HashedBytes { get; private init; }

    public SnapshotTotals Plus(SiteDirectory directory) => With(directory, 1);

    public SnapshotTotals Minus(SiteDirectory directory) => With(directory, -1);

    private SnapshotTotals With(SiteDirectory directory, int sign)
    {
        long bakedBytes = 0;
        long hashedBytes = 0;
        int descriptors = 0;
        foreach (Asset asset in directory.Assets)
        {
            bakedBytes += asset.BakedBytes;
            hashedBytes += asset.HashedBytes;
            descriptors += asset.Descriptor != Asset.NoDescriptor ? 1 : 0;
        }

        return new SnapshotTotals
        {
            Assets = Assets + (sign * directory.Assets.Length),
            Directories = Directories + sign,
            Entries = Entries + (sign * directory.EntryCount),
            Skipped = Skipped + (sign * directory.SkippedCount),
            BakedBytes = BakedBytes + (sign * bakedBytes),
            HashedBytes = HashedBytes + (sign * hashedBytes),
            Descriptors = Descriptors + (sign * descriptors),
        };
    }
}
