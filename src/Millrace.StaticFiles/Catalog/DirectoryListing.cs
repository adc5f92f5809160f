namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// The visible entries of a directory, for people to browse: first its directories, then its files, each by name. Enumerated under a
/// lease on the snapshot it was taken from.
/// </summary>
internal ref struct DirectoryListing
{
    private readonly SiteDirectory _directory;
    private readonly DirectoryTable _table;
    private int _next;

    internal DirectoryListing(SiteDirectory directory, DirectoryTable table)
    {
        _directory = directory;
        _table = table;
    }

    public ListedEntry Current { get; private set; }

    public readonly DirectoryListing GetEnumerator() => this;

    public bool MoveNext()
    {
        IReadOnlyList<SitePath> subdirectories = _directory.Subdirectories;
        while (_next < subdirectories.Count)
        {
            if (_table.Find(subdirectories[_next++].Bytes) is SiteDirectory subdirectory)
            {
                Current = ListedEntry.Of(subdirectory);
                return true;
            }
        }

        int file = _next - subdirectories.Count;
        if (file == _directory.Assets.Length)
        {
            return false;
        }

        Current = ListedEntry.Of(_directory.Assets[file]);
        _next++;
        return true;
    }
}
