namespace Millrace.StaticFiles.Catalog;

/// <summary>Whether what a snapshot knows of a path is still so on disk.</summary>
internal enum Freshness
{
    Current,

    /// <summary>A directory, or a file in it, has changed: refresh it.</summary>
    DirectoryChanged,

    /// <summary>
    /// Nothing has changed, but something in a directory that could not be read may be readable by now: refresh it, once in a while.
    /// </summary>
    Doubtful,

    /// <summary>The root's name leads to another directory, or nowhere: reload.</summary>
    RootChanged,
}
