using System.Text;
using Millrace.StaticFiles.Catalog;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Tests.Kit;

namespace Millrace.StaticFiles.Tests.Catalog;

[Collection(nameof(MeasuredAlone))]
public class LargeSiteTests(ITestOutputHelper output)
{
    private const int FileCount = 50_000;

    [Fact]
    public void Fifty_thousand_files_take_few_bytes_each_and_few_descriptors_in_all()
    {
        using var site = TempSite.InMemory();
        var paths = new List<byte[]>();
        for (int i = 0; i < FileCount; i++)
        {
            string path = $"section-{i % 100:00}/article-{i:000000}.html";
            site.File(path, $"article {i}");
            paths.Add(Encoding.ASCII.GetBytes('/' + path));
        }

        using var catalog = AssetCatalog.Open(site.Options with { DescriptorsMax = 0, BakedBytesTotalMax = 1_600_000 });
        using AssetCatalog measured = Measure(() => AssetCatalog.Open(site.Options), out long bytes);

        output.WriteLine($"{bytes / FileCount} bytes per file, paths of {paths[0].Length}, bodies apart");
        Assert.InRange(bytes, 1, 200L * FileCount);
        Assert.Equal(FileCount, measured.Current.AssetCount);
        Assert.Equal(25_000, CountOf(catalog.Current, paths, BodyStrategy.Baked));
        Assert.Equal(25_000, CountOf(catalog.Current, paths, BodyStrategy.Ring));
        Assert.Equal("article 49999", catalog.Current.Body(Encoding.ASCII.GetString(paths[^1])));
        Assert.Equal(2, site.OpenDescriptorCount());
    }

    [Fact]
    public void Finding_and_planning_allocate_nothing()
    {
        using var site = new TempSite();
        site.File("dir/index.html", "x");
        using AssetCatalog catalog = site.Open();
        CatalogSnapshot snapshot = catalog.Current;
        byte[][] paths = [.. new[] { "/dir/index.html", "/dir/", "/dir", "/nothing", "" }.Select(Encoding.ASCII.GetBytes)];
        RequestMethod[] methods = Enum.GetValues<RequestMethod>();
        byte[] location = new byte[100];
        _ = PlanAll();

        long before = GC.GetAllocatedBytesForCurrentThread();
        int planned = PlanAll();
        long after = GC.GetAllocatedBytesForCurrentThread();

        Assert.Equal(10_000 * paths.Length * methods.Length, planned);
        Assert.Equal(0, after - before);

        int PlanAll()
        {
            int count = 0;
            for (int i = 0; i < 10_000; i++)
            {
                foreach (byte[] path in paths)
                {
                    _ = snapshot.TryFind(path, out _);
                    foreach (RequestMethod method in methods)
                    {
                        Plan plan = Planner.Plan(method, path, "a=b"u8, snapshot);
                        count += plan.Location.IsEmpty ? 1 : Math.Min(1, plan.Location.Write(location));
                    }
                }
            }

            return count;
        }
    }

    [Fact]
    public async Task Native_memory_does_not_grow_with_reloads()
    {
        using var site = new TempSite();
        for (int i = 0; i < 64; i++)
        {
            site.File($"f{i}", new byte[64 * 1024]);
        }

        using AssetCatalog catalog = site.Open();
        await ReloadAsync(5);
        long before = ResidentBytes();

        // 60 x 4 MiB would be 240 MiB if it leaked.
        await ReloadAsync(60);

        Assert.InRange(ResidentBytes() - before, long.MinValue, 120L * 1024 * 1024);

        async Task ReloadAsync(int times)
        {
            for (int i = 0; i < times; i++)
            {
                CatalogSnapshot previous = catalog.Current;
                catalog.Reload();
                await previous.Freed;
            }
        }
    }

    private static int CountOf(CatalogSnapshot snapshot, List<byte[]> paths, BodyStrategy strategy) =>
        paths.Count(path => snapshot.TryFind(path, out Asset? asset) == PathMatch.Asset && asset!.Strategy == strategy);

    private static T Measure<T>(Func<T> make, out long bytes)
    {
        long before = GC.GetTotalMemory(forceFullCollection: true);
        T made = make();
        bytes = GC.GetTotalMemory(forceFullCollection: true) - before;
        return made;
    }

    private static long ResidentBytes()
    {
        string line = File.ReadLines("/proc/self/status").Single(line => line.StartsWith("VmRSS:", StringComparison.Ordinal));
        return 1024 * long.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1], provider: null);
    }
}
