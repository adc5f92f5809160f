using System.Globalization;
using System.Text;
using Millrace.Interop.Files;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Watching;

/// <summary>
/// After any sequence of changes to files, directories and symlinks, however fast, what is served is what a catalog opened then would
/// serve.
/// </summary>
public sealed class ConvergenceTests : IDisposable
{
    /// <summary>Of symlinks that go in circles the paths never end.</summary>
    private const int DepthMax = 4;

    private static readonly string[] Names = ["a", "b", "c", ".h"];

    private readonly TempSite _files = TempSite.InMemory();

    public void Dispose() => _files.Dispose();

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    [InlineData(5)]
    [InlineData(6)]
    public async Task Random_changes_end_in_the_site_that_a_new_scan_finds(int seed)
    {
        var random = new Random(seed);
        using var site = new LiveSite(_files);
        for (int round = 0; round < 15; round++)
        {
            int changes = random.Next(1, 40);
            for (int i = 0; i < changes; i++)
            {
                Change(random);
            }

            string expected = DescribeFiles();
            using (AssetCatalog fresh = _files.Open())
            {
                Assert.Equal(expected, Describe(fresh));
            }

            await site.UntilAsync(
                () => Describe(site.Catalog) == expected,
                () => $"seed {seed}, round {round}: expected\n{expected}\nserved\n{Describe(site.Catalog)}");
        }

        Assert.Empty(site.Log.Lines(410));
        Assert.Empty(site.Log.Lines(411).Concat(site.Log.Lines(412)));
    }

    private void Change(Random random)
    {
        string path = RandomPath(random);
        string full = _files.PathOf(path);
        switch (random.Next(8))
        {
            case 0 or 1:
                TryTo(() => File.WriteAllText(full, random.Next().ToString(CultureInfo.InvariantCulture)));
                break;
            case 2 or 3:
                TryTo(() => Directory.CreateDirectory(full));
                break;
            case 4:
                TryTo(() => File.CreateSymbolicLink(full, RandomTarget(random)));
                break;
            case 5:
                TryTo(() => File.Delete(full));
                break;
            case 6:
                TryTo(() => Directory.Delete(full, recursive: true));
                break;
            default:
                _ = TestCalls.Rename(full, _files.PathOf(RandomPath(random)));
                break;
        }
    }

    private static string RandomPath(Random random) =>
        string.Join('/', Enumerable.Range(0, random.Next(1, 4)).Select(_ => Names[random.Next(Names.Length)]));

    private static string RandomTarget(Random random) =>
        string.Concat(Enumerable.Repeat("../", random.Next(0, 3))) + RandomPath(random);

    /// <summary>Half of it is impossible as things are: there is no such parent, or something else has the name.</summary>
    private static void TryTo(Action change)
    {
        try
        {
            change();
        }
        catch (Exception error) when (error is IOException or UnauthorizedAccessException)
        {
            return;
        }
    }

    /// <summary>What the kernel opens within the root by names that are not hidden: each path with its body.</summary>
    private string DescribeFiles()
    {
        using var root = RootDirectory.Open(_files.Root);
        var lines = new SortedSet<string>(StringComparer.Ordinal);
        DescribeFiles(root, "", 0, lines);
        return string.Join('\n', lines);
    }

    private void DescribeFiles(RootDirectory root, string directory, int depth, SortedSet<string> lines)
    {
        lines.Add(directory + "/");
        foreach (string name in depth < DepthMax ? Names.Where(static name => name[0] != '.') : [])
        {
            string path = $"{directory}/{name}";
            _ = root.Stat(Encoding.UTF8.GetBytes(path[1..] + "\0"), out FileState state);
            if (state.Type == FileType.Regular)
            {
                lines.Add($"{path} {File.ReadAllText(_files.PathOf(path[1..]))}");
            }
            else if (state.Type == FileType.Directory)
            {
                DescribeFiles(root, path, depth + 1, lines);
            }
        }
    }

    /// <summary>Each path of the site with its body.</summary>
    private static string Describe(AssetCatalog catalog)
    {
        CatalogSnapshot snapshot = catalog.Acquire();
        try
        {
            var lines = new SortedSet<string>(StringComparer.Ordinal);
            Describe(snapshot, "", 0, lines);
            return string.Join('\n', lines);
        }
        finally
        {
            snapshot.Release();
        }
    }

    private static void Describe(CatalogSnapshot snapshot, string directory, int depth, SortedSet<string> lines)
    {
        lines.Add(directory + "/");
        foreach (string name in depth < DepthMax ? Names : [])
        {
            string path = $"{directory}/{name}";
            switch (snapshot.TryFind(Encoding.UTF8.GetBytes(path), out _, out _))
            {
                case PathMatch.Asset:
                    lines.Add($"{path} {snapshot.Body(path)}");
                    break;
                case PathMatch.DirectoryWithoutSlash:
                    Describe(snapshot, path, depth + 1, lines);
                    break;
                default:
                    break;
            }
        }
    }
}
