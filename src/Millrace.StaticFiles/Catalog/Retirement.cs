using Millrace.StaticFiles.Building;

namespace Millrace.StaticFiles.Catalog;

/// <summary>
/// What no snapshot after a certain one holds: freed when that one is released, but for what an older one that lives holds too. Belongs to
/// the catalogue until it releases that snapshot, then to the order of retirement.
/// </summary>
internal sealed class Retirement
{
    private readonly List<Asset> _assets = [];
    private readonly List<RootDirectory> _roots = [];
    private readonly List<TaskCompletionSource> _waiting = [];

    public void Add(IReadOnlyCollection<Asset> assets, RootDirectory? root)
    {
        _assets.AddRange(assets);
        if (root is not null)
        {
            _roots.Add(root);
        }
    }

    /// <summary>Completed when this is freed, whatever it has passed to.</summary>
    public void Tell(TaskCompletionSource freed) => _waiting.Add(freed);

    /// <summary>Gives an older snapshot what that holds as well, and whoever waits for it. The rest is returned.</summary>
    public Retirement PassTo(CatalogSnapshot older)
    {
        var rest = new Retirement();
        foreach (Asset asset in _assets)
        {
            (older.Holds(asset) ? older.Retired : rest)._assets.Add(asset);
        }

        foreach (RootDirectory root in _roots)
        {
            (older.Content.Root == root ? older.Retired : rest)._roots.Add(root);
        }

        older.Retired._waiting.AddRange(_waiting);
        return rest;
    }

    public void Free(AssetHoldings holdings)
    {
        foreach (Asset asset in _assets)
        {
            holdings.Free(asset);
        }

        foreach (RootDirectory root in _roots)
        {
            root.Dispose();
        }

        foreach (TaskCompletionSource freed in _waiting)
        {
            freed.SetResult();
        }
    }
}
