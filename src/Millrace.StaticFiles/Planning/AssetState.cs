namespace Millrace.StaticFiles.Planning;

/// <summary>Whether the file behind an asset is what the plan took it for.</summary>
internal enum AssetState : byte
{
    AsPlanned,

    /// <summary>
    /// Opened just now, it is another or of another state: it is sent whole, without the validators, conditions and ranges that were
    /// decided about the one before.
    /// </summary>
    Changed,
}
