using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>The step from one snapshot to the next.</summary>
/// <param name="Next">What the next consists of.</param>
/// <param name="Dropped">The assets of the one before that it does not have.</param>
/// <param name="Left">The directories of the one before that it does not have.</param>
internal sealed record SnapshotChange(
    SnapshotContent Next, IReadOnlyCollection<Asset> Dropped, IReadOnlyCollection<SitePath> Left);
