using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>A regular file a walk met, and what becomes of it.</summary>
/// <param name="path">Its path.</param>
/// <param name="state">What it was at that moment: enough to tell whether it is new, and to order files by size.</param>
internal sealed class ListedFile(SitePath path, in FileState state)
{
    public SitePath Path { get; } = path;

    public FileState State { get; } = state;

    /// <summary>Where nobody says that it changed: what it was in the snapshot before.</summary>
    public Asset? Kept { get; init; }

    /// <summary>The one it had in the snapshot before, one that was loaded for the next, or null: it cannot be served.</summary>
    public Asset? Asset { get; set; }

    /// <summary>Whether the asset is part of the snapshot before: then it is as it is.</summary>
    public bool IsCarriedOver { get; set; }
}
