using System.Text;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Snapshots;

/// <summary>
/// Changes a tree at random, refreshes the directories a watcher would name, and compares with a walk from scratch: every path, body, tag,
/// variant, listing and total.
/// </summary>
public sealed class RandomChangesTests : IDisposable
{
    private readonly TempSite _site = TempSite.InMemory();

    public void Dispose() => _site.Dispose();

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    public async Task Refreshed_changes_come_to_what_a_fresh_walk_finds(int seed)
    {
        var random = new Random(seed);
        using AssetCatalog catalog = _site.Open();
        for (int round = 0; round < 60; round++)
        {
            var touched = new HashSet<(string Directory, string Name)>();
            for (int i = random.Next(1, 6); i > 0; i--)
            {
                Change(random, touched);
            }

            // As a watcher tells of it: by names; or of anything, where it knows no better.
            catalog.Refresh([.. touched.ToLookup(entry => entry.Directory, entry => entry.Name).Select(directory => new DirectoryChange(
                Encoding.UTF8.GetBytes(directory.Key), random.Next(4) == 0 ? null : [.. directory.Select(Encoding.UTF8.GetBytes)]))]);
            if (random.Next(10) == 0)
            {
                await TempSite.SettleAsync();
                catalog.Reload();
            }

            using AssetCatalog fresh = _site.Open();
            catalog.ProveSiblings();
            Assert.Equal(Describe(fresh.Current), Describe(catalog.Current));
        }

        Assert.True(catalog.Current.AssetCount > 5, "the tree stayed empty, nothing was proven");
    }

    /// <summary>One change, and the entries that it changed.</summary>
    private void Change(Random random, HashSet<(string Directory, string Name)> touched)
    {
        string directory = DirectoryAt(random);
        string name = new[] { "a", "b", "c", "index.html", "a.gz", "c.br" }[random.Next(6)];
        string path = $"{directory}/{name}";
        string full = _site.PathOf("." + path);
        touched.Add((directory, name));
        switch (random.Next(10))
        {
            case < 4:
                Remove(full);
                _site.File("." + path, ContentOf(name, new string((char)('a' + random.Next(3)), 100 * random.Next(3))));
                break;
            case < 7 when path.Length < 16:
                Remove(full);
                _site.File($".{path}/{name}", "in a new directory");
                _site.EmptyDirectory($".{path}/sub");
                break;
            case 7:
                Remove(full);
                break;
            default:
                string target = DirectoryAt(random);
                string moved = $"{target}/{name}";
                if (Path.Exists(full) && !moved.StartsWith(path, StringComparison.Ordinal) && !path.StartsWith(moved, StringComparison.Ordinal))
                {
                    Remove(_site.PathOf("." + moved));
                    _site.Move("." + path, "." + moved);
                    TouchFile(_site.PathOf("." + moved));
                    touched.Add((target, name));
                }

                break;
        }
    }

    /// <summary>Of few contents, so that some coded files are those of their originals.</summary>
    private static byte[] ContentOf(string name, string content) => name switch
    {
        "a.gz" => CodedContent.Gzip(content),
        "c.br" => CodedContent.Brotli(content),
        _ => Encoding.UTF8.GetBytes(content),
    };

    /// <summary>
    /// An older original than before would lose the siblings it is newer than: what was before is what a fresh walk does not know.
    /// </summary>
    private static void TouchFile(string full)
    {
        if (File.Exists(full))
        {
            File.SetLastWriteTimeUtc(full, DateTime.UtcNow);
        }
    }

    private string DirectoryAt(Random random)
    {
        string[] all = [.. Directory.EnumerateDirectories(_site.Root, "*", SearchOption.AllDirectories).Order(StringComparer.Ordinal)];
        int place = random.Next(all.Length + 1);
        return place == all.Length ? "" : all[place][_site.Root.Length..];
    }

    private static void Remove(string full)
    {
        if (Directory.Exists(full))
        {
            Directory.Delete(full, recursive: true);
        }
        else
        {
            File.Delete(full);
        }
    }

    private static string Describe(CatalogSnapshot snapshot)
    {
        var text = new StringBuilder($"{snapshot.Totals}\n");
        foreach (SiteDirectory directory in snapshot.Table.Directories.ToArray().OrderBy(directory => Encoding.ASCII.GetString(directory.Path)))
        {
            string path = Encoding.ASCII.GetString(directory.Path);
            text.Append($"{path}/ -> {(directory.Index is null ? "none" : snapshot.Body(directory.Index))}: ");
            text.AppendJoin(' ', snapshot.Names(path + "/")).Append('\n');
            foreach (Asset asset in directory.Assets)
            {
                text.Append($"{Encoding.ASCII.GetString(asset.Path)} {asset.Codings} {asset.Tag()} {snapshot.Body(asset)}\n");
            }
        }

        return text.ToString();
    }
}
