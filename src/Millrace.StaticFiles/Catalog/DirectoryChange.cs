namespace Millrace.StaticFiles.Catalog;

/// <summary>A directory of which something is not as it was: entries of some names, or anything.</summary>
/// <param name="Path">From the root with a leading '/'; the root's own is empty.</param>
/// <param name="Names">The names whose entries have appeared, changed or gone; null where it may be anything.</param>
internal sealed record DirectoryChange(byte[] Path, IReadOnlyCollection<byte[]>? Names = null);
