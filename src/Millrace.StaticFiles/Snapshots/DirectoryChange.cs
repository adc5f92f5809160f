namespace Millrace.StaticFiles.Snapshots;

/// <summary>A directory that changed: entries of some names, or anything.</summary>
/// <param name="Path">From the root with a leading '/'; the root's own is empty.</param>
/// <param name="Names">The names whose entries appeared, changed or vanished; null if it may be anything.</param>
internal sealed record DirectoryChange(byte[] Path, IReadOnlyCollection<byte[]>? Names = null);
