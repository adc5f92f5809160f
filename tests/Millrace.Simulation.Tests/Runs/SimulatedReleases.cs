using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Snapshots;
using Millrace.Tests.Shared;

namespace Millrace.Simulation.Tests.Runs;

/// <summary>A file of a release, and its entity tag.</summary>
internal sealed record ReleasedFile(byte[] Content, string EntityTag);

/// <summary>
/// Several releases of one site: folders with files of the same names, none of the same content. Written once and shared by all runs, long
/// enough ago that their tags last.
/// </summary>
internal sealed class SimulatedReleases
{
    public const int Count = 4;

    /// <summary>From memory, by one read or in chunks, and by opening for each request.</summary>
    public const int Ways = 3;

    private static readonly int[] Sizes = [90, 1_200, 20_000, 70_000, 300_000];

    private readonly string _folder;
    private readonly ReleasedFile[,][] _files = new ReleasedFile[Ways, Count][];

    /// <param name="folder">Theirs.</param>
    public SimulatedReleases(string folder)
    {
        _folder = folder;
        for (int release = 0; release < Count; release++)
        {
            Directory.CreateDirectory(FolderOf(release));
            foreach (int size in Sizes)
            {
                string path = Path.Combine(FolderOf(release), NameOf(size));
                File.WriteAllBytes(path, ContentOf(release, size));
                File.SetLastWriteTimeUtc(path, SimulatedSites.WrittenAt.AddSeconds(release));
            }
        }
    }

    /// <summary>The smallest first.</summary>
    public static IReadOnlyList<string> Targets { get; } = [.. Sizes.Select(static size => "/" + NameOf(size))];

    public string FolderOf(int release) => Path.Combine(_folder, $"release-{release}");

    public string LinkOf(int number) => Path.Combine(_folder, $"current-{number}");

    /// <summary>A file in every release, with the tags that it has in one of the ways.</summary>
    public IEnumerable<ReleasedFile> VersionsOf(int file, int way) => Enumerable.Range(0, Count).Select(release => _files[way, release][file]);

    /// <summary>One of the ways to serve a root; nothing but a deployment changes the site.</summary>
    public static SiteOptions OptionsOf(int way, string root)
    {
        var options = new SiteOptions { Root = root, Watch = WatchMode.Off, Compression = false };
        return way switch
        {
            0 => options,
            1 => options with { CacheFileBytesMax = 100, ReadBytesMax = 2_000 },
            _ => options with { CacheFileBytesMax = 100, ReadBytesMax = 65_536, DescriptorsMax = 0 },
        };
    }

    /// <summary>Bytes that a file has in each of them.</summary>
    public static int BytesMin(int file) => Sizes[file];

    /// <summary>Notes the entity tags, once the files have those that they keep.</summary>
    public async Task SettleAsync()
    {
        for (int i = 0; i < Ways * Count; i++)
        {
            (int way, int release) = (i / Count, i % Count);
            using Site site = Site.Open(OptionsOf(way, FolderOf(release)), NullLoggerFactory.Instance);
            await site.Catalog.SettleAsync();
            _files[way, release] = [.. Sizes.Select(size => FileOf(site.Catalog.Current, release, size))];
        }
    }

    private static ReleasedFile FileOf(CatalogSnapshot snapshot, int release, int size)
    {
        snapshot.TryFind(Encoding.ASCII.GetBytes("/" + NameOf(size)), out Asset? asset, out _);
        return new ReleasedFile(ContentOf(release, size), Encoding.ASCII.GetString(asset!.EntityTag));
    }

    private static string NameOf(int size) => $"d{size}.bin";

    /// <summary>Some are as long as those of other releases.</summary>
    private static byte[] ContentOf(int release, int size) => Marker.Of(100_000 + (release * 1_000) + size)[..(size + (release % 3 * 7))].ToArray();
}
