namespace Millrace.StaticFiles.Catalog;

/// <summary>Where an asset's bytes come from, and with that who owns them.</summary>
internal enum AssetOrigin : byte
{
    /// <summary>A file of the site, by its own name. Owns its memory or descriptor.</summary>
    File,

    /// <summary>A coded file, as a variant of the one beside it. What it shows is owned by that file's own asset.</summary>
    Sibling,

    /// <summary>Coded in the background, as a variant of an asset. Owns its memory; has no file.</summary>
    Published,
}
