using System.Globalization;
using System.Text;
using Millrace.Server.Metrics;

namespace Millrace.Server.Tests.Metrics;

public class FrequentPathsTests
{
    private readonly FrequentPaths _paths = new();

    [Fact]
    public void Paths_are_counted_without_their_queries()
    {
        Add("/a");
        Add("/b?token=secret");
        Add("/b?token=other");
        Add("/b");

        Assert.Equal([("/b", 3), ("/a", 1)], Counts());
    }

    [Fact]
    public void Bytes_are_escaped_as_in_the_access_log()
    {
        _paths.Add([.. "/\"<é\\"u8, 0xFF, 0x1B]);

        Assert.Equal([("/\\x22<\\xC3\\xA9\\x5C\\xFF\\x1B", 1)], Counts());
    }

    [Fact]
    public void A_long_path_is_counted_by_its_beginning()
    {
        string start = "/" + new string('x', FrequentPaths.PathBytesMax - 1);
        Add(start);
        Add(start + "1");
        Add(start + "2");

        Assert.Equal([(start, 3)], Counts());
    }

    [Fact]
    public void What_is_frequent_stays_among_any_number_of_others_and_its_count_is_never_too_high()
    {
        const int Each = 1_000;
        for (int i = 0; i < Each; i++)
        {
            Add("/favicon.ico");
            Add(i % 2 == 0 ? "/old.html" : "/older.html");
            Add(string.Create(CultureInfo.InvariantCulture, $"/scan/{i}"));
            Add(string.Create(CultureInfo.InvariantCulture, $"/scan/{i}/x"));
        }

        (string Path, long Count)[] counts = Counts();
        Assert.Equal(FrequentPaths.SlotsMax, counts.Length);
        Assert.Equal(["/favicon.ico", "/old.html", "/older.html"], counts.Take(3).Select(static one => one.Path).Order(StringComparer.Ordinal));
        Assert.Equal([Each, Each / 2, Each / 2], counts.Take(3).Select(static one => one.Count));
        Assert.All(counts.Skip(3), static one => Assert.Equal(1, one.Count));
    }

    [Fact]
    public async Task Another_thread_may_read_at_any_time()
    {
        const int Times = 200_000;
        using var stop = new CancellationTokenSource();
        Task reading = Task.Run(() =>
        {
            while (!stop.IsCancellationRequested)
            {
                Assert.All(Counts(), static one => Assert.InRange(one.Count, 0, Times));
            }
        });
        for (int i = 0; i < Times; i++)
        {
            Add("/a");
        }

        await stop.CancelAsync();
        await reading;

        (string path, long count) = Assert.Single(Counts());
        Assert.Equal("/a", path);
        Assert.InRange(count, 1, Times);
    }

    private void Add(string target) => _paths.Add(Encoding.ASCII.GetBytes(target));

    private (string Path, long Count)[] Counts()
    {
        var counts = new Dictionary<string, long>();
        _paths.AddTo(counts);
        return [.. counts.Select(static one => (one.Key, one.Value)).OrderByDescending(static one => one.Value)];
    }
}
