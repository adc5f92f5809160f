using Millrace.Conformance.Tests.Kit;

namespace Millrace.Conformance.Tests.Changes;

/// <summary>A file that changes while it is sent: the receive buffer is small, so that the server is still at it.</summary>
public class DownloadTests
{
    /// <summary>More than the kernel takes of a response whose reader does not read.</summary>
    private static readonly byte[] Large = Content.Binary(16 * 1024 * 1024, 16);

    /// <summary>In HTTP/2 and HTTP/3 it is a window of 4 KiB that holds the server back, and each one costs a round trip.</summary>
    private static readonly byte[] LargeInStreams = Content.Binary(4 * 1024 * 1024, 16);

    [Theory]
    [Behaviour("RFC 9110 8.6", 3, "A download goes on with the old file when another is renamed over it.")]
    public async Task A_replaced_file_is_sent_whole(Site site)
    {
        using Download download = await Download.StartAsync(site, "replaced");
        Site.Files.Replace(download.Path, Content.Text("another", 1000));
        await download.IsWholeAsync();
    }

    [Theory]
    [Behaviour("RFC 9110 8.6", 4, "A download goes on when its file is deleted.")]
    public async Task A_deleted_file_is_sent_whole(Site site)
    {
        using Download download = await Download.StartAsync(site, "deleted-while-sent");
        File.Delete(Site.Files.PathOf(download.Path));
        await download.IsWholeAsync();
    }

    [Theory]
    [Behaviour("RFC 9110 8.6", 2, "A download has the announced length, though its file grows.")]
    public async Task A_file_that_grows_is_sent_as_announced(Site site)
    {
        using Download download = await Download.StartAsync(site, "growing");
        await using (FileStream file = File.Open(Site.Files.PathOf(download.Path), FileMode.Append))
        {
            await file.WriteAsync(Content.Binary(500_000, 5));
        }

        await download.IsWholeAsync();
        (await download.Wire.GetAsync("/one.txt")).IsWhole(Site.Files["/one.txt"]);
    }

    [Theory]
    [Behaviour("RFC 9112 8", 1, "A download whose file is truncated ends with its connection.")]
    public async Task A_file_that_is_cut_ends_the_connection(Site site)
    {
        using Download download = await Download.StartAsync(site, "cut");
        await using (FileStream file = File.OpenWrite(Site.Files.PathOf(download.Path)))
        {
            file.SetLength(download.Content.Length / 2);
        }

        await download.Wire.SendAsync(Site.Request("GET", "/one.txt"));
        byte[] body = await download.Wire.ReadToEndAsync();
        Expect.That(body.Length < download.Content.Length, "as many bytes as announced");
        Expect.Bytes(download.Content.AsSpan(0, body.Length), body);
    }

    [Theory]
    [Behaviour(BehaviourAttribute.Choice, 7, "A download continues when a symlink on its path is switched.")]
    [Trait("Duration", "Full")]
    public async Task A_swapped_symlink_does_not_disturb_a_download(Site site)
    {
        using Download download = await Download.StartAsync(site, "swapped", through: "current");
        string link = Site.Files.PathOf(download.Folder + "current");
        Directory.CreateDirectory(Site.Files.PathOf(download.Folder + "other"));
        File.CreateSymbolicLink(link + "~", "other");
        Unix.Rename(link + "~", link);
        await download.IsWholeAsync();
    }

    private sealed class Download(Wire wire, byte[] content, string folder, string path) : IDisposable
    {
        public Wire Wire => wire;

        public byte[] Content => content;

        public string Folder => folder;

        public string Path => path;

        /// <summary>Asks for a large file of its own, perhaps through a symlink, and reads the head of the response.</summary>
        public static async Task<Download> StartAsync(Site site, string name, string? through = null)
        {
            string folder = Site.Files.AddScratch(ChangeTests.Unique(site, name));
            string path = $"{folder}release/large.bin";
            byte[] content = Fronts.HasStreams(site.Front) ? LargeInStreams : Large;
            Site.Files.Add(path, content);
            string target = path;
            if (through is not null)
            {
                File.CreateSymbolicLink(Site.Files.PathOf(folder + through), "release");
                target = $"{folder}{through}/large.bin";
            }

            await Expect.SoonAsync(
                async () => (await site.HeadAsync(target)).Is(200).Has("Content-Length", $"{content.Length}"));
            Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
            await wire.SendAsync(Site.Request("GET", target));
            (await wire.ReadHeadAsync()).Is(200).Has("Content-Length", $"{content.Length}");
            return new Download(wire, content, folder, path);
        }

        public async Task IsWholeAsync() => Expect.Same(content, await wire.ReadBytesAsync(content.Length));

        public void Dispose()
        {
            wire.Dispose();
            Directory.Delete(Site.Files.PathOf(folder), recursive: true);
        }
    }
}
