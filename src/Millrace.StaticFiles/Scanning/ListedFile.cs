using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Scanning;

/// <summary>A regular file that a scan met, and its asset.</summary>
/// <param name="path">Its path.</param>
/// <param name="state">Its state at that moment: enough to tell whether it is new, and to order files by size.</param>
internal sealed class ListedFile(SitePath path, in FileState state)
{
    public SitePath Path { get; } = path;

    public FileState State { get; } = state;

    /// <summary>The previous snapshot's asset, if no change of this name was reported.</summary>
    public Asset? Previous { get; init; }

    /// <summary>The previous snapshot's asset, or one loaded for the next, or null if it cannot be served.</summary>
    public Asset? Asset { get; set; }

    /// <summary>Whether the asset is part of the previous snapshot and therefore fixed.</summary>
    public bool IsCarriedOver { get; set; }
}
