using System.Formats.Tar;
using System.IO.Compression;
using System.Net;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Archives;

/// <summary>Directories as archives, in both protocols: whole, or visibly not; and nothing is left of those that end early.</summary>
public class ArchiveTests : SiteFixture
{
    private const uint Window = 64 * 1024 * 1024;
    private const int LargeSize = 16 * 1024 * 1024;
    private const string Request = "GET /?archive=tar.gz HTTP/1.1\r\nHost: a\r\n\r\n";

    private static SiteOptions WithArchives(SiteOptions options) => options with
    {
        Listing = true,
        Archives = ArchiveFormats.TarGzip | ArchiveFormats.Zip,
    };

    [Fact]
    public async Task It_comes_in_chunks_and_the_next_response_follows()
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync(WithArchives);
        Wire wire = await site.ConnectAsync();
        for (int i = 0; i < 2; i++)
        {
            await wire.SendAsync(Request + "GET /?archive=zip HTTP/1.1\r\nHost: a\r\n\r\n");
            Response head = await wire.ReadHeadAsync();
            Assert.Equal((200, "chunked", "application/gzip"), (head.Status, head.Field("Transfer-Encoding"), head.Field("Content-Type")));
            Assert.Equal("attachment; filename=\"site.tar.gz\"", head.Field("Content-Disposition"));
            Assert.All((string[])["Content-Length", "ETag", "Last-Modified", "Accept-Ranges"], name => Assert.Null(head.Field(name)));
            AssertHasSizes(ReadTar(await wire.ReadChunksAsync()));

            head = await wire.ReadHeadAsync();
            Assert.Equal((200, "application/zip"), (head.Status, head.Field("Content-Type")));
            AssertHasSizes(ReadZip(await wire.ReadChunksAsync()));
            (await wire.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        }

        Assert.Equal(0, site.Archives.Count);
    }

    [Fact]
    public async Task For_http_1_0_the_connection_ends_it()
    {
        Folder.AddSizes();
        Wire wire = await (await StartAsync(WithArchives)).ConnectAsync();
        await wire.SendAsync("GET /?archive=tar.gz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");

        Response head = await wire.ReadHeadAsync();
        Assert.Null(head.Field("Transfer-Encoding"));
        Assert.Equal("close", head.Field("Connection"));
        (byte[] bytes, WireEnd end) = await wire.ReadToEndAsync();
        Assert.Equal(WireEnd.Finished, end);
        AssertHasSizes(ReadTar(bytes));
    }

    [Fact]
    public async Task Head_is_the_head_alone_and_ranges_are_not_there()
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync(WithArchives);
        Wire wire = await site.ConnectAsync();
        await wire.SendAsync("HEAD /?archive=zip HTTP/1.1\r\nHost: a\r\n\r\n");
        Response head = await wire.ReadResponseAsync("HEAD");
        Assert.Equal((200, "application/zip"), (head.Status, head.Field("Content-Type")));
        Assert.Null(head.Field("Content-Length"));

        await wire.SendAsync("GET /?archive=zip HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9\r\n\r\n");
        head = await wire.ReadHeadAsync();
        Assert.Equal(200, head.Status);
        AssertHasSizes(ReadZip(await wire.ReadChunksAsync()));
    }

    [Fact]
    public async Task A_file_that_shrinks_meanwhile_ends_in_a_reset()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync(WithArchives);
        Wire wire = await site.ConnectAsync(receiveBufferBytes: 64 * 1024);
        await wire.SendAsync(Request);
        _ = await wire.ReadHeadAsync();

        // Part of the file is there: it is open.
        _ = await wire.ReadBytesAsync(100_000);
        Folder.SetLength(SiteFolder.Target(LargeSize), 1000);

        (byte[] bytes, WireEnd end) = await wire.ReadToEndAsync();

        Assert.True(bytes.Length < LargeSize / 2);
        Assert.Equal(WireEnd.Reset, end);
        Assert.False(bytes.AsSpan().EndsWith("\r\n0\r\n\r\n"u8));
        Assert.Equal(0, site.Archives.Count);
    }

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_client_that_goes_away_leaves_nothing(bool waitsBefore)
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync(WithArchives);
        for (int i = 0; i < 20; i++)
        {
            Wire wire = await site.ConnectAsync(receiveBufferBytes: 64 * 1024);
            await wire.SendAsync(Request);
            if (waitsBefore)
            {
                _ = await wire.ReadHeadAsync();
            }

            wire.Reset();
        }

        await UntilNoneAsync(site);
    }

    [Fact]
    public async Task A_client_that_does_not_read_holds_little_and_others_get_503()
    {
        Folder.AddSized(LargeSize);
        Folder.AddSized(1000);
        RunningSite site = await StartAsync(static options => WithArchives(options) with { ArchivesMax = 1 });
        Wire slow = await site.ConnectAsync(receiveBufferBytes: 64 * 1024);
        await slow.SendAsync(Request);
        _ = await slow.ReadHeadAsync();
        Wire other = await site.ConnectAsync();

        Response refused = await other.GetAsync("/?archive=zip");
        Assert.Equal((503, "10"), (refused.Status, refused.Field("Retry-After")));
        (await other.GetAsync("/f1000.bin")).AssertIsWhole(SiteFolder.Bytes(1000));
        Assert.InRange(await site.LentBytesAsync(), 0, 1024 * 1024);

        Assert.Equal(LargeSize, ReadTar(await slow.ReadChunksAsync())[SiteFolder.Target(LargeSize)].Length);
        await other.SendAsync(Request);
        Assert.Equal(200, (await other.ReadHeadAsync()).Status);
    }

    [Fact]
    public async Task One_client_gets_a_quarter_of_them_and_others_get_some_too()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync(static options => WithArchives(options) with { ArchivesMax = 8 });
        var greedy = new List<Wire>();
        for (int i = 0; i < 2; i++)
        {
            greedy.Add(await site.ConnectAsync(receiveBufferBytes: 64 * 1024));
            await greedy[i].SendAsync(Request);
            Assert.Equal(200, (await greedy[i].ReadHeadAsync()).Status);
        }

        Response refused = await (await site.ConnectAsync()).GetAsync("/?archive=zip");
        Assert.Equal((503, "10"), (refused.Status, refused.Field("Retry-After")));
        Wire other = await site.ConnectFromAsync(IPAddress.Parse("127.0.0.2"));
        await other.SendAsync(Request);
        Assert.Equal(200, (await other.ReadHeadAsync()).Status);

        Assert.Equal(LargeSize, ReadTar(await greedy[0].ReadChunksAsync())[SiteFolder.Target(LargeSize)].Length);
        await greedy[0].SendAsync(Request);
        Assert.Equal(200, (await greedy[0].ReadHeadAsync()).Status);
    }

    [Fact]
    public async Task A_server_that_ends_meanwhile_leaves_nothing()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync(WithArchives);
        Wire wire = await site.ConnectAsync(receiveBufferBytes: 64 * 1024);
        await wire.SendAsync(Request);
        _ = await wire.ReadHeadAsync();
        Http2Wire client = await Http2Wire.OpenAsync(site);
        await client.SendAsync(Frame.Headers(1, Block.Get("/?archive=zip")));
        _ = await client.ReadUntilAsync(FrameType.Headers);

        await site.Group.StopAsync(TimeSpan.Zero);

        await UntilNoneAsync(site);
    }

    [Fact]
    public async Task Over_http_2_it_is_a_body_like_others()
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync(WithArchives);
        Http2Wire client = await Http2Wire.OpenAsync(site, settings: (SettingId.InitialWindowSize, Window));
        await client.SendAsync(
            Frame.Headers(1, Block.Get("/?archive=tar.gz")), Frame.Headers(3, Block.Get("/?archive=zip")), Frame.Headers(5, Block.Get("/f1000.bin")));

        Response tar = await client.ReadResponseAsync(1);
        Assert.Equal((200, "application/gzip", null), (tar.Status, tar.Field("content-type"), tar.Field("content-length")));
        AssertHasSizes(ReadTar(tar.Body));
        AssertHasSizes(ReadZip((await client.ReadResponseAsync(3)).Body));
        (await client.ReadResponseAsync(5)).AssertIsWhole(SiteFolder.Bytes(1000));
        Assert.Equal(0, site.Archives.Count);
    }

    [Fact]
    public async Task Over_http_2_a_small_window_slows_it_and_a_reset_ends_it()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync(WithArchives);
        Http2Wire client = await Http2Wire.OpenAsync(site, opensWindows: false);
        await client.SendAsync(Frame.Headers(1, Block.Get("/?archive=tar.gz")));
        await client.SettleAsync();
        Assert.Equal(1, site.Archives.Count);
        Assert.InRange(await site.LentBytesAsync(), 0, 1024 * 1024);

        await client.SendAsync(Frame.Reset(1));

        await UntilNoneAsync(site);
    }

    [Fact]
    public async Task Over_http_2_a_file_that_shrinks_meanwhile_resets_the_stream()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync(WithArchives);
        Http2Wire client = await Http2Wire.OpenAsync(site, opensWindows: false);
        await client.SendAsync(Frame.Headers(1, Block.Get("/?archive=tar.gz")));

        // As much as the window lets pass: the file is open.
        while (client.Of(1).Body.Length < 65_535)
        {
            await client.TakeAsync(await client.ReadFrameAsync());
        }

        Folder.SetLength(SiteFolder.Target(LargeSize), 1000);
        await client.SendAsync(Frame.WindowUpdate(0, Window), Frame.WindowUpdate(1, Window));

        await client.AssertResetsAsync(1, Http2Error.InternalError);

        Assert.Equal(0, site.Archives.Count);
    }

    private static void AssertHasSizes(Dictionary<string, byte[]> files)
    {
        Assert.Equal(SiteFolder.Sizes.Select(SiteFolder.Target).Order(), files.Keys.Order());
        Assert.All(SiteFolder.Sizes, size => Assert.Equal(SiteFolder.Bytes(size), files[SiteFolder.Target(size)]));
    }

    private static Dictionary<string, byte[]> ReadTar(byte[] bytes)
    {
        var files = new Dictionary<string, byte[]>();
        using var reader = new TarReader(new GZipStream(new MemoryStream(bytes), CompressionMode.Decompress));
        while (reader.GetNextEntry(copyData: true) is { } entry)
        {
            if (entry.EntryType == TarEntryType.RegularFile)
            {
                using var content = new MemoryStream();
                entry.DataStream?.CopyTo(content);
                files.Add(entry.Name["site".Length..], content.ToArray());
            }
        }

        return files;
    }

    private static Dictionary<string, byte[]> ReadZip(byte[] bytes)
    {
        var files = new Dictionary<string, byte[]>();
        using var zip = new ZipArchive(new MemoryStream(bytes));
        foreach (ZipArchiveEntry entry in zip.Entries.Where(static entry => !entry.FullName.EndsWith('/')))
        {
            using Stream opened = entry.Open();
            using var content = new MemoryStream();
            opened.CopyTo(content);
            files.Add(entry.FullName["site".Length..], content.ToArray());
        }

        return files;
    }

    private static async Task UntilNoneAsync(RunningSite site)
    {
        using var deadline = new CancellationTokenSource(TimeSpan.FromSeconds(30));
        while (site.Archives.Count > 0)
        {
            await Task.Delay(5, deadline.Token);
        }
    }
}
