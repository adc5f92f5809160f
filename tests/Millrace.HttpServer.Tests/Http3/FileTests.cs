using Millrace.Engine;
using Millrace.HttpServer.Tests.Http3.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.Quic.Connections;
using Millrace.Quic.Streams;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http3;

/// <summary>Responses over HTTP/3 whose bodies are read from files, and files that change or fail meanwhile.</summary>
public class FileTests : SiteFixture
{
    private const int ReadSize = 100_000;
    private const int StreamSize = 1024 * 1024;
    private const int LargeSize = 32 * 1024 * 1024;
    private const string Bystander = "/f1000.bin";

    /// <summary>A client whose windows never are in the way.</summary>
    private static readonly QuicSettings WideWindows = Http3TestClient.Settings with
    {
        Streams = new StreamSettings
        {
            ConnectionWindowBytes = 64 * 1024 * 1024,
            ConnectionWindowBytesMax = 64 * 1024 * 1024,
            StreamWindowBytes = 64 * 1024 * 1024,
            StreamWindowBytesMax = 64 * 1024 * 1024,
        },
    };

    public FileTests() => CarriesHttps = static _ => true;

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(4_000)]
    [InlineData(64 * 1024)]
    [InlineData(ReadSize)]
    [InlineData(128 * 1024)]
    [InlineData(StreamSize + 1)]
    [InlineData(5_000_000)]
    public async Task Files_of_all_sizes_are_whole_for_narrow_and_wide_windows(int size)
    {
        byte[] bytes = Folder.AddSized(size);
        RunningSite site = await StartAsync();
        foreach (QuicSettings? settings in (QuicSettings?[])[null, WideWindows])
        {
            Http3TestConnection client = await ConnectAsync(site, settings);
            Http3TestResponse[] all = await Task.WhenAll(
                Enumerable.Range(0, 5).Select(_ => client.GetAsync(SiteFolder.Target(size))));
            Assert.All(all, response => Assert.Equal(("200", $"{size}"), (response.Status, response["content-length"])));
            Assert.All(all, response => Assert.Equal(bytes, response.Content));
        }
    }

    [Fact]
    [Trait("Rfc", "9110-14")]
    public async Task Ranges_are_sent_alone_and_several_as_multipart()
    {
        byte[] bytes = Folder.AddSized(StreamSize);
        Http3TestConnection client = await OpenAsync();
        Http3TestResponse one = await client.GetAsync(SiteFolder.Target(StreamSize), "range: bytes=500000-500009");
        Assert.Equal(("206", $"bytes 500000-500009/{StreamSize}"), (one.Status, one["content-range"]));
        Assert.Equal(bytes[500_000..500_010], one.Content);
        Http3TestResponse two = await client.GetAsync(SiteFolder.Target(StreamSize), "range: bytes=0-199999,300000-300004");
        Assert.Equal("206", two.Status);
        Assert.StartsWith("multipart/byteranges", two["content-type"], StringComparison.Ordinal);
        Assert.Equal(two["content-length"], $"{two.Content.Length}");
        Assert.True(two.Content.AsSpan().IndexOf(bytes.AsSpan(0, 200_000)) > 0);
        Assert.True(two.Content.AsSpan().IndexOf(bytes.AsSpan(300_000, 5)) > 0);
        Assert.Equal("416", (await client.GetAsync(SiteFolder.Target(StreamSize), "range: bytes=9999999-")).Status);
    }

    [Theory]
    [InlineData(ReadSize, 0)]
    [InlineData(ReadSize, 70_000)]
    [InlineData(StreamSize, 0)]
    [InlineData(StreamSize, 70_000)]
    public async Task A_file_that_shrank_is_answered_as_it_is(int size, int left)
    {
        byte[] bytes = Folder.AddSized(size);
        Http3TestConnection client = await OpenAsync();
        Folder.SetLength(SiteFolder.Target(size), left);

        Http3TestResponse response = await client.GetAsync(SiteFolder.Target(size));

        Assert.Equal(("200", $"{left}"), (response.Status, response["content-length"]));
        Assert.Equal(bytes[..left], response.Content);
        Assert.Null(response["etag"]);
    }

    [Fact]
    public async Task A_file_that_grew_is_sent_without_the_validators_of_its_old_version()
    {
        Folder.AddSized(ReadSize);
        RunningSite site = await StartAsync();
        Http3TestConnection wide = await ConnectAsync(site, WideWindows);
        Http3TestConnection narrow = await ConnectAsync(site, null);
        Folder.SetLength(SiteFolder.Target(ReadSize), ReadSize + 5000);
        byte[] grown = [.. SiteFolder.Bytes(ReadSize), .. new byte[5000]];

        Http3TestResponse response = await wide.GetAsync(SiteFolder.Target(ReadSize));
        Assert.Equal(grown, response.Content);
        Assert.Equal($"{grown.Length}", response["content-length"]);
        AssertSpeaksOfNoVersion(response);

        // Its first read is no longer than the window, so that only the file's present end is known.
        response = await narrow.GetAsync(SiteFolder.Target(ReadSize));
        Assert.Equal(grown, response.Content);
        Assert.Null(response["content-length"]);
        AssertSpeaksOfNoVersion(response);
    }

    [Fact]
    public async Task A_part_of_a_file_that_changed_is_a_reset_and_others_go_on()
    {
        Folder.AddSized(ReadSize);
        Http3TestConnection client = await OpenAsync();
        Folder.SetLength(SiteFolder.Target(ReadSize), 500);

        await AssertResetsAsync(client.GetAsync(SiteFolder.Target(ReadSize), "range: bytes=1000-1999"), Http3Codes.InternalError);
        Assert.Equal(SiteFolder.Bytes(1000), (await client.GetAsync(Bystander)).Content);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_file_that_changes_while_it_is_sent_ends_in_a_reset_and_others_go_on(bool shrinks)
    {
        byte[] bytes = Folder.AddSized(LargeSize);
        Http3TestConnection client = await ConnectAsync(await StartAsync(), null);
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", SiteFolder.Target(LargeSize)));
        await stream.ReadHeadAsync();
        byte[] first = (await stream.ReadDataAsync())!;
        if (shrinks)
        {
            Folder.SetLength(SiteFolder.Target(LargeSize), LargeSize / 2);
        }
        else
        {
            Folder.Overwrite(SiteFolder.Target(LargeSize), SiteFolder.Bytes(LargeSize + 1)[1..]);
        }

        Http3TestException reset = await Assert.ThrowsAsync<Http3TestException>(stream.ReadToEndAsync);
        Assert.Equal(Http3Codes.InternalError, reset.StreamCode);
        Assert.True(bytes.AsSpan().StartsWith(first));
        Assert.Equal(SiteFolder.Bytes(1000), (await client.GetAsync(Bystander)).Content);
    }

    [Fact]
    public async Task A_disk_that_fails_is_answered_500_and_others_go_on()
    {
        Folder.AddSized(ReadSize);
        RunningSite site = await StartAsync();
        Http3TestConnection client = await ConnectAsync(site, null);
        Assert.Equal(SiteFolder.Bytes(ReadSize), (await client.GetAsync(SiteFolder.Target(ReadSize))).Content);
        Assert.Equal(1, BadDisk.Fail(Folder.PathOf(SiteFolder.Target(ReadSize))));

        Assert.Equal("500", (await client.GetAsync(SiteFolder.Target(ReadSize))).Status);
        Assert.Equal("500", (await client.GetAsync(SiteFolder.Target(ReadSize), "range: bytes=5-6")).Status);
        Assert.Equal("404", (await client.GetAsync("/none")).Status);
        Assert.Contains("Input/output error", Assert.Single(site.TakeWarnings()), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Clients_that_go_away_while_files_are_read_leave_nothing_behind()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync();
        for (int i = 0; i < 20; i++)
        {
            Http3TestConnection client = await ConnectAsync(site, null);
            for (int n = 0; n < 10; n++)
            {
                Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", SiteFolder.Target(LargeSize), "priority: i"));
                if (n == 0 && i % 2 == 0)
                {
                    await stream.ReadHeadAsync();
                }
            }

            client.Close();
        }
    }

    [Fact]
    public async Task Streams_that_are_given_up_while_files_are_read_leave_nothing_behind()
    {
        Folder.AddSized(LargeSize);
        Http3TestConnection client = await OpenAsync();
        for (int i = 0; i < 100; i++)
        {
            Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", SiteFolder.Target(LargeSize)));
            stream.StopSending();
            await stream.Closed;
        }

        Assert.Equal(SiteFolder.Bytes(1000), (await client.GetAsync(Bystander)).Content);
    }

    /// <summary>More than the read-ahead of a connection would be held if each kept the chunk that its window does not let out.</summary>
    [Fact]
    public async Task Responses_whose_windows_are_closed_keep_no_other_from_being_read()
    {
        Folder.AddSized(LargeSize);
        Folder.AddSized(StreamSize);
        RunningSite site = await StartAsync();
        Http3TestConnection client = await ConnectAsync(site, Http3TestClient.Settings with
        {
            Streams = new StreamSettings
            {
                ConnectionWindowBytes = 64 * 1024 * 1024,
                ConnectionWindowBytesMax = 64 * 1024 * 1024,
                StreamWindowBytes = 30_000,
                StreamWindowBytesMax = 30_000,
            },
        });
        for (int i = 0; i < 20; i++)
        {
            Http3TestStream stalled = await client.SendAsync(Http3Bytes.Request("GET", SiteFolder.Target(LargeSize)));
            await stalled.ReadHeadAsync();
        }

        Assert.Equal(SiteFolder.Bytes(StreamSize), (await client.GetAsync(SiteFolder.Target(StreamSize))).Content);
    }

    [Fact]
    public async Task An_archive_is_sent_while_it_is_made()
    {
        for (int i = 0; i < 20; i++)
        {
            Folder.Add($"/d/{i}.bin", SiteFolder.Bytes(100_000 + i));
        }

        RunningSite site = await StartAsync(static options => options with { Listing = true, Archives = ArchiveFormats.Zip });
        Http3TestConnection client = await ConnectAsync(site, null);
        Http3TestResponse response = await client.GetAsync("/d/?archive=zip");
        Assert.Equal(("200", "application/zip"), (response.Status, response["content-type"]));
        using var zip = new System.IO.Compression.ZipArchive(new MemoryStream(response.Content));
        Assert.Equal(20, zip.Entries.Count(static entry => entry.Length >= 100_000));
    }

    [Theory]
    [InlineData("reads")]
    [InlineData("stops")]
    [InlineData("is closed")]
    public async Task A_response_from_memory_is_whole_after_a_reload_and_its_snapshot_is_freed_when_the_client(string ends)
    {
        byte[] old = Folder.Add("/a.bin", SiteFolder.Bytes(3_500));
        RunningSite site = await StartAsync();
        Http3Endpoint endpoint = await site.ListenHttp3Async();
        Http3TestConnection quick = await endpoint.ConnectAsync(settings: WideWindows);

        // All of the response is written, and half of it cannot be sent.
        Http3TestConnection slow = await endpoint.ConnectAsync(settings: Http3TestClient.Settings with
        {
            Streams = new StreamSettings { StreamWindowBytes = 2_000, StreamWindowBytesMax = 2_000 },
        });
        Http3TestStream stream = await slow.SendAsync(Http3Bytes.Request("GET", "/a.bin"));
        Assert.Equal(1, await stream.ReadAsync(new byte[1]));
        byte[] next = Folder.Add("/a.bin", SiteFolder.Bytes(3_501));
        Task oldIsFreed = site.Catalog.Current.Freed;
        site.Catalog.Reload();
        Assert.Equal(next, (await quick.GetAsync("/a.bin")).Content);
        Assert.False(oldIsFreed.IsCompleted);
        if (ends == "reads")
        {
            Assert.Equal(old, (await stream.ReadToEndAsync())[^old.Length..]);
        }
        else if (ends == "stops")
        {
            stream.StopSending();
        }
        else
        {
            slow.Close();
        }

        await oldIsFreed.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.Equal(next, (await quick.GetAsync("/a.bin")).Content);
    }

    [Fact]
    public async Task The_snapshot_of_a_response_from_memory_is_freed_when_the_client_has_it_and_leaves_its_side_open()
    {
        byte[] old = Folder.Add("/a.bin", SiteFolder.Bytes(3_500));
        RunningSite site = await StartAsync(
            limits: new HttpServerLimits { Head = TimeSpan.FromSeconds(1), ReceiveStall = TimeSpan.FromMinutes(10) });
        Http3Endpoint endpoint = await site.ListenHttp3Async();
        Http3TestConnection client = await endpoint.ConnectAsync(settings: WideWindows);
        Http3TestStream stream = await client.SendAsync(Http3Bytes.Request("GET", "/a.bin"), isEnd: false);
        Assert.Equal(old, (await stream.ReadResponseAsync()).Content);
        byte[] next = Folder.Add("/a.bin", SiteFolder.Bytes(3_501));
        Task oldIsFreed = site.Catalog.Current.Freed;
        site.Catalog.Reload();
        Assert.Equal(next, (await client.GetAsync("/a.bin")).Content);
        await oldIsFreed.WaitAsync(TimeSpan.FromSeconds(60), TestContext.Current.CancellationToken);
        Assert.True(await client.InspectAsync(quic => quic.Streams.Find(stream.Id) is { Send.IsTerminal: false }));
    }

    /// <summary>As of memory that is not there for the next chunk: it happens outside of the connection's callbacks.</summary>
    [Fact]
    public async Task What_is_thrown_after_a_read_ends_its_connection_and_no_other()
    {
        Folder.AddSized(1000);
        Folder.AddSized(ReadSize);
        RunningSite site = await StartAsync(engine: new EngineOptions { Reactors = 1 }, files: new ThrowingFiles());
        Http3TestConnection client = await ConnectAsync(site, null);
        Http3TestConnection other = await ConnectAsync(site, null);

        await client.SendAsync(Http3Bytes.Request("GET", SiteFolder.Target(ReadSize)));

        CloseReason reason = await client.Closed;
        Assert.Equal((CloseSource.Peer, true, Http3Codes.InternalError), (reason.Source, reason.IsApplication, reason.Code));
        Assert.Equal(SiteFolder.Bytes(1000), (await other.GetAsync(Bystander)).Content);
        Assert.NotEmpty(site.TakeWarnings());
    }

    private static void AssertSpeaksOfNoVersion(Http3TestResponse response)
    {
        Assert.Null(response["etag"]);
        Assert.Null(response["last-modified"]);
        Assert.Null(response["accept-ranges"]);
        Assert.Equal("no-store", response["cache-control"]);
    }

    private static async Task AssertResetsAsync(Task<Http3TestResponse> response, long code)
    {
        Http3TestException reset = await Assert.ThrowsAsync<Http3TestException>(() => response);
        Assert.Equal(code, reset.StreamCode);
    }

    private static async Task<Http3TestConnection> ConnectAsync(RunningSite site, QuicSettings? settings) =>
        await (await site.ListenHttp3Async()).ConnectAsync(settings: settings);

    private async Task<Http3TestConnection> OpenAsync() => await ConnectAsync(await StartAsync(), WideWindows);

    private Task<RunningSite> StartAsync(Func<SiteOptions, SiteOptions>? site = null)
    {
        Folder.AddSized(1000);
        return StartAsync(site, engine: new EngineOptions { Reactors = 1 });
    }

    private sealed class ThrowingFiles : AssetFiles
    {
        public override int Stat(int descriptor, out FileState state) => throw new InsufficientMemoryException("There is no memory.");
    }
}
