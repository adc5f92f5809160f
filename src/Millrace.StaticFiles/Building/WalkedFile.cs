namespace Millrace.StaticFiles.Building;

/// <summary>A regular file a walk met.</summary>
/// <param name="PathIndex">Its place in the path table.</param>
/// <param name="Size">Its bytes at that moment; only an order is made of them.</param>
internal readonly record struct WalkedFile(int PathIndex, long Size);
