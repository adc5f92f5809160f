namespace Millrace.StaticFiles.Catalog;

/// <summary>What a path of a URL is on this site.</summary>
internal enum PathMatch
{
    /// <summary>Nothing.</summary>
    None,

    /// <summary>A file, or a directory with its slash and an index.</summary>
    Asset,

    /// <summary>A directory, asked for without its slash: relative links of its index would resolve one level too high.</summary>
    DirectoryWithoutSlash,

    /// <summary>A directory with its slash and no index.</summary>
    DirectoryWithoutIndex,
}
