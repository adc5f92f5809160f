using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.HttpServer;
using Millrace.HttpServer.Upstreams;
using Millrace.Simulation.Tests.Upstreams;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;
using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>A file that is served, and the entity tag that each host gives it.</summary>
internal sealed record SiteFile(string Target, byte[] Content, IReadOnlyList<string> EntityTags)
{
    /// <summary>Of all of them.</summary>
    public const string ContentType = "application/octet-stream";
}

/// <summary>
/// One folder of real files, served by three real sites that differ in how they send: from memory, by one read or in chunks, and by
/// opening for each request. Opened once and shared by all runs; the bytes of a file follow from its name.
/// </summary>
internal sealed class SimulatedSites : IDisposable
{
    /// <summary>Around every border between two ways of sending, of all hosts.</summary>
    private static readonly int[] Sizes =
    [
        0, 1, 99, 100, 101, 800, 2_000, 2_001, 5_000, 16_384, 16_385, 40_000, 65_536, 65_537, 150_000, 262_144, 400_000, 600_000,
    ];

    /// <summary>Dates are part of answers, and their length in HPACK depends on them: a seed replays in any process.</summary>
    public static readonly DateTime WrittenAt = new(2026, 1, 1, 0, 0, 0, DateTimeKind.Utc);

    /// <summary>To one upstream, to two, and so on; addresses only, as a name would be resolved on another thread.</summary>
    private static readonly ProxyRule[] ProxyRules =
    [
        .. Enumerable.Range(1, UpstreamShape.Ports.Length).Select(static count =>
            new ProxyRule("/api/*", [.. UpstreamShape.Ports.Take(count).Select(static port => $"http://127.0.0.1:{port}")])),
    ];

    private readonly string _folder = Directory.CreateTempSubdirectory("millrace-simulation-").FullName;
    private readonly Site[] _sites;
    private readonly Site[] _proxied;

    private SimulatedSites()
    {
        foreach (byte[] content in Sizes.Select(ContentOf))
        {
            string path = Path.Combine(_folder, NameOf(content.Length));
            File.WriteAllBytes(path, content);
            File.SetLastWriteTimeUtc(path, WrittenAt);
        }

        // Nothing changes on disk while it is served.
        SiteOptions fromMemory = new()
        {
            Root = _folder,
            Watch = WatchMode.Off,
            Compression = false,
            Redirects = [new RedirectRule("/go/*", "/gone/:splat", 302)],
        };
        SiteOptions fromFiles = fromMemory with { CacheFileBytesMax = 100, ReadBytesMax = 2_000 };
        SiteOptions onDemand = fromFiles with { DescriptorsMax = 0, ReadBytesMax = 65_536 };
        _sites = [.. new[] { fromMemory, fromFiles, onDemand }.Select(static options => Site.Open(options, NullLoggerFactory.Instance))];
        _proxied =
        [
            .. Enumerable.Range(1, UpstreamShape.Ports.Length)
                .Select(count => Site.Open(fromMemory with { Proxies = [ProxyRules[count - 1]] }, NullLoggerFactory.Instance)),
        ];
        Releases = new SimulatedReleases(Directory.CreateDirectory(Path.Combine(_folder + "-releases")).FullName);
    }

    public static IReadOnlyList<string> HostNames { get; } = ["memory.test", "files.test", "demand.test"];

    public SimulatedReleases Releases { get; }

    public HostTable Hosts => HostsWith(null, upstreams: 0);

    /// <summary>The host of a site that is deployed.</summary>
    public const string DeployedHost = "deploy.test";

    /// <summary>The host of a site that sends requests on to upstreams.</summary>
    public const string ProxiedHost = "app.test";

    /// <summary>By size, the smallest first.</summary>
    public IReadOnlyList<SiteFile> Files { get; private set; } = [];

    /// <summary>Opens them, and waits until files written just now have the tags that they keep.</summary>
    public static async Task<SimulatedSites> OpenAsync()
    {
        var sites = new SimulatedSites();
        foreach (Site site in sites._sites.Concat(sites._proxied))
        {
            await site.Catalog.SettleAsync();
        }

        sites.ReadFiles();
        await sites.Releases.SettleAsync();
        return sites;
    }

    /// <summary>With a site of a run's own, and one that sends requests on to so many upstreams, if any.</summary>
    public HostTable HostsWith(Site? deployed, int upstreams)
    {
        List<(string? Name, Site Site)> hosts = [.. HostNames.Zip(_sites, static (name, site) => ((string?)name, site))];
        if (deployed is not null)
        {
            hosts.Add((DeployedHost, deployed));
        }

        if (upstreams > 0)
        {
            hosts.Add((ProxiedHost, _proxied[upstreams - 1]));
        }

        return new HostTable(hosts);
    }

    /// <summary>The upstreams of a run, with their health.</summary>
    public static UpstreamGroups GroupsOf(UpstreamShape shape, int reactors) =>
        new([ProxyRules[shape.Count - 1]], shape.ToOptions(), reactors);

    private void ReadFiles()
    {
        byte[][] contents = [.. Sizes.Select(ContentOf)];
        Files = [.. contents.Select(content => new SiteFile("/" + NameOf(content.Length), content, TagsOf(NameOf(content.Length))))];
    }

    /// <summary>Ends the sites. Nobody may still use what a run has borrowed of them: bodies, descriptors, snapshots.</summary>
    public async Task EndAsync()
    {
        foreach (Site site in _sites.Concat(_proxied))
        {
            CatalogSnapshot last = site.Catalog.Current;
            site.Dispose();
            await last.Freed.WaitAsync(TimeSpan.FromSeconds(60));
            Assert.Equal((0, 0), (site.Catalog.InMemoryBytesHeld, site.Catalog.DescriptorsHeld));
        }
    }

    public void Dispose()
    {
        Directory.Delete(_folder, recursive: true);
        Directory.Delete(_folder + "-releases", recursive: true);
    }

    private static byte[] ContentOf(int size) => Marker.Of(size)[..size].ToArray();

    private static string NameOf(int size) => $"f{size}.bin";

    private string[] TagsOf(string name) =>
    [
        .. _sites.Select(site =>
        {
            PathMatch match = site.Catalog.Current.TryFind(Encoding.ASCII.GetBytes("/" + name), out Asset? asset, out _);
            Assert.True(asset is not null, $"{name} is {match}");
            return Encoding.ASCII.GetString(asset.EntityTag);
        }),
    ];
}
