namespace Millrace.StaticFiles.Catalog;

/// <summary>What can be told that files have changed. Any thread may tell; both return after the change is visible to all.</summary>
internal interface IRefreshable
{
    /// <summary>Reads these directories again, and what is new below them. One swap for all.</summary>
    /// <param name="directoryPaths">From the root with a leading '/'; the root's own is empty. Unknown ones are passed over.</param>
    void Refresh(IReadOnlyCollection<byte[]> directoryPaths);

    /// <summary>Reads all again, from the root's name.</summary>
    void Reload();
}
