namespace Millrace.StaticFiles.Snapshots;

/// <summary>A catalog that can rescan changed files. Any thread; both methods return after the change is visible to all.</summary>
internal interface IRefreshable
{
    /// <summary>Rescans what changed in these directories, and what is new below them, in one swap.</summary>
    /// <param name="changes">At most one for each directory. Unknown directories are ignored.</param>
    void Refresh(IReadOnlyCollection<DirectoryChange> changes);

    /// <summary>Rescans the whole site from the root's name.</summary>
    void Reload();
}
