using System.Text;
using Millrace.StaticFiles.Catalog;

namespace Millrace.StaticFiles.Building;

/// <summary>
/// Builds a snapshot of a root: walk it, load its files from the smallest to the largest, give each directory its index. Throws
/// <see cref="SiteException"/> and leaves nothing behind where the root cannot be read.
/// </summary>
internal static class SnapshotBuilder
{
    public static CatalogSnapshot Build(SiteOptions options, Budget memory, Budget descriptors)
    {
        var resources = new SnapshotResources(RootDirectory.Open(options.Root), memory, descriptors);
        try
        {
            var skipped = new SkippedEntries();
            var walk = new TreeWalk(resources.Root, options, skipped);
            walk.Run();
            PathTable paths = walk.Paths;
            Asset?[] assets = LoadFiles(walk, new AssetLoader(resources, paths, options, skipped));
            AssignIndexes(walk, assets, options);
            return new CatalogSnapshot(paths, assets, resources, skipped);
        }
        catch
        {
            resources.Dispose();
            throw;
        }
    }

    /// <summary>
    /// Smaller files first, for memory and for descriptors alike. What a request saves is a read, or an open and a close, the same
    /// for every file; what it costs is the file's size. So a budget saves most on the smallest files, where these calls are also the
    /// largest part of an answer. Equal sizes go by path, so that replicas of a site decide alike.
    /// </summary>
    private static Asset?[] LoadFiles(TreeWalk walk, AssetLoader loader)
    {
        PathTable paths = walk.Paths;
        walk.Files.Sort((left, right) =>
        {
            int bySize = left.Size.CompareTo(right.Size);
            return bySize != 0 ? bySize : paths.PathAt(left.PathIndex).SequenceCompareTo(paths.PathAt(right.PathIndex));
        });

        var assets = new Asset?[paths.Count];
        foreach (WalkedFile file in walk.Files)
        {
            assets[file.PathIndex] = loader.Load(file.PathIndex);
        }

        return assets;
    }

    /// <summary>Gives each directory the asset that answers for it, if one does.</summary>
    private static void AssignIndexes(TreeWalk walk, Asset?[] assets, SiteOptions options)
    {
        byte[][] indexNames = [.. options.IndexNames.Select(name => Encoding.UTF8.GetBytes('/' + name))];
        byte[] path = new byte[PathTable.PathBytesMax + indexNames.Select(name => name.Length).DefaultIfEmpty().Max()];
        foreach (int directory in walk.Directories)
        {
            ReadOnlySpan<byte> directoryPath = walk.Paths.PathAt(directory);
            directoryPath.CopyTo(path);
            foreach (byte[] name in indexNames)
            {
                name.CopyTo(path, directoryPath.Length);
                int index = walk.Paths.Find(path.AsSpan(0, directoryPath.Length + name.Length));
                if (index != PathTable.Missing && walk.Paths.KindAt(index) == PathKind.File && assets[index] is Asset asset)
                {
                    assets[directory] = asset;
                    break;
                }
            }
        }
    }
}
