namespace Millrace.StaticFiles.Rules;

/// <summary>What an answer is, as far as its fields depend on it.</summary>
internal enum FieldUse
{
    /// <summary>A file.</summary>
    Asset,

    /// <summary>A file whose name changes with its content.</summary>
    HashedAsset,

    /// <summary>An error, with or without a page: asked about each time, for it may be mended.</summary>
    Error,

    /// <summary>A redirect: its status says how long it holds.</summary>
    Redirect,
}
