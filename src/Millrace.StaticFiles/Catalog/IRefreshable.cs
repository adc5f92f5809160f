namespace Millrace.StaticFiles.Catalog;

/// <summary>What can be told that files have changed. Any thread may tell; both return after the change is visible to all.</summary>
internal interface IRefreshable
{
    /// <summary>Reads again what has changed in these directories, and what is new below them. One swap for all.</summary>
    /// <param name="changes">Each of another directory. Unknown ones are passed over.</param>
    void Refresh(IReadOnlyCollection<DirectoryChange> changes);

    /// <summary>Reads all again, from the root's name.</summary>
    void Reload();
}
