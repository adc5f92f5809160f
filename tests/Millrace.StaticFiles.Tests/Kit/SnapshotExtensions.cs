using System.Text;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Compression;
using Millrace.StaticFiles.Listings;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Tests.Kit;

internal static class SnapshotExtensions
{
    public static PathMatch Match(this CatalogSnapshot snapshot, string path) => snapshot.TryFind(Encoding.UTF8.GetBytes(path), out _, out _);

    public static Asset Asset(this CatalogSnapshot snapshot, string path)
    {
        PathMatch match = snapshot.TryFind(Encoding.UTF8.GetBytes(path), out Asset? asset, out _);
        Assert.True(match == PathMatch.Asset, $"{path} is {match}");
        return asset!;
    }

    /// <summary>Refreshes directories by their paths as text; the root's is empty.</summary>
    public static void Refresh(this AssetCatalog catalog, params string[] paths) =>
        catalog.Refresh([.. paths.Select(path => new DirectoryChange(Encoding.UTF8.GetBytes(path)))]);

    /// <summary>Refreshes some names of a directory, as inotify reports them.</summary>
    public static void RefreshNames(this AssetCatalog catalog, string path, params string[] names) =>
        catalog.Refresh([new DirectoryChange(Encoding.UTF8.GetBytes(path), [.. names.Select(Encoding.UTF8.GetBytes)])]);

    /// <summary>Decodes the coded files beside others, as the background does, and waits for those that were written just now.</summary>
    public static void ProveSiblings(this AssetCatalog catalog)
    {
        var pass = new SiblingPass(catalog, TimeProvider.System, static _ => { }, static error => Assert.Fail($"{error}"));
        while (catalog.Current.AllSiblings().Any(static one => one.Sibling.Verdict == SiblingVerdict.Undecided))
        {
            pass.RunSmall(CancellationToken.None);
            pass.RunLarge(CancellationToken.None);
            Thread.Sleep(1);
        }
    }

    /// <summary>The names of a listing; those of directories end with '/'.</summary>
    public static List<string> Names(this CatalogSnapshot snapshot, string path)
    {
        _ = snapshot.TryFind(Encoding.UTF8.GetBytes(path), out _, out SiteDirectory? directory);
        var names = new List<string>();
        foreach (ListingEntry entry in snapshot.List(directory!))
        {
            names.Add(Encoding.UTF8.GetString(entry.Name.Span) + (entry.IsDirectory ? "/" : ""));
        }

        return names;
    }

    public static string Tag(this Asset asset) => Encoding.ASCII.GetString(asset.EntityTag);

    /// <summary>The body of an asset, by whatever way its strategy says.</summary>
    public static string Body(this CatalogSnapshot snapshot, string path)
    {
        return snapshot.Body(snapshot.Asset(path));
    }

    public static string Body(this CatalogSnapshot snapshot, Asset asset)
    {
        if (asset.Strategy == BodyStrategy.InMemory)
        {
            return Encoding.UTF8.GetString(asset.InMemoryBody);
        }

        if (asset.Descriptor != StaticFiles.Snapshots.Asset.NoDescriptor)
        {
            return ReadDescriptor(asset.Descriptor, asset.Size);
        }

        int fd = snapshot.OpenOnDemand(asset, out FileState state);
        Assert.True(fd >= 0, $"{Encoding.UTF8.GetString(asset.Path)}: {fd}");
        string body = ReadDescriptor(fd, state.Size);
        Assert.Equal(0, FileCalls.Close(fd));
        return body;
    }

    /// <summary>Waits until nothing of a snapshot is left; a lease that somebody kept fails the test in place of hanging it.</summary>
    public static Task WhenFreedAsync(this CatalogSnapshot snapshot) => snapshot.Freed.WaitAsync(TimeSpan.FromSeconds(30));

    public static SkipReason ReasonFor(this CatalogSnapshot snapshot, string path) =>
        Assert.Single(snapshot.Skipped, entry => entry.Path == path).Reason;

    private static unsafe string ReadDescriptor(int fd, long size)
    {
        byte[] body = new byte[size];
        fixed (byte* bodyPtr = body)
        {
            Assert.Equal(size, FileCalls.PositionalRead(fd, bodyPtr, (nuint)size, 0));
        }

        return Encoding.UTF8.GetString(body);
    }
}
