using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;

namespace Millrace.HttpServer.Tests;

/// <summary>Files that change after the catalogue's back: never a wrong body, never one that only looks whole.</summary>
public class ChangingFileTests : SiteFixture
{
    private const string Bystander = "/f1000.bin";
    private const int RingSize = 200_000;
    private const int StreamSize = 1_500_000;
    private const int LargeSize = 16 * 1024 * 1024;

    private static SiteOptions OnDemand(SiteOptions options) => options with { DescriptorsMax = 0 };

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(99_999)]
    [InlineData(RingSize - 1)]
    public async Task A_file_of_one_read_that_shrank_is_answered_at_its_new_length(int left)
    {
        byte[] bytes = Folder.AddSized(RingSize);
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(RingSize), left);

        Response response = await wire.GetAsync(SiteFolder.Target(RingSize));

        response.AssertIsWhole(bytes[..left]);
        (await wire.GetAsync(Bystander)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Theory]
    [InlineData(0)]
    [InlineData(262_144)]
    [InlineData(StreamSize - 1)]
    public async Task A_large_file_that_shrank_is_answered_at_its_new_length(int left)
    {
        byte[] bytes = Folder.AddSized(StreamSize);
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(StreamSize), left);

        Response response = await wire.GetAsync(SiteFolder.Target(StreamSize));

        response.AssertIsWhole(bytes[..left]);
        Assert.Null(response.Field("ETag"));
        (await wire.GetAsync(Bystander)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task A_file_that_is_written_without_end_is_500()
    {
        Folder.AddSized(RingSize);
        RunningSite site = await StartAsync();
        using var isOver = new CancellationTokenSource();
        Task writing = WriteWithoutEndAsync(Folder.PathOf(SiteFolder.Target(RingSize)), isOver.Token);
        var seen = new HashSet<int>();
        for (int i = 0; i < 2_000 && !seen.Contains(500); i++)
        {
            using Wire wire = await site.ConnectAsync();
            seen.Add((await wire.GetAsync(SiteFolder.Target(RingSize))).Status);
        }

        await isOver.CancelAsync();
        await writing;
        Assert.Contains(500, seen);
        Assert.Subset(new HashSet<int> { 200, 500 }, seen);
    }

    private static Task WriteWithoutEndAsync(string path, CancellationToken isOver) => Task.Factory.StartNew(
        () =>
        {
            using FileStream file = File.Open(path, FileMode.Open, FileAccess.Write, FileShare.ReadWrite);
            for (byte i = 0; !isOver.IsCancellationRequested; i++)
            {
                RandomAccess.Write(file.SafeFileHandle, [i], 0);
            }
        },
        CancellationToken.None,
        TaskCreationOptions.LongRunning,
        TaskScheduler.Default);

    [Fact]
    public async Task A_file_that_shrinks_while_it_is_sent_ends_in_a_reset_after_what_there_was()
    {
        const int Left = 8 * 1024 * 1024;
        byte[] bytes = Folder.AddSized(LargeSize);
        Folder.AddSized(1000);
        RunningSite site = await StartAsync();
        Wire wire = await site.ConnectAsync(receiveBufferBytes: 4096);
        Wire bystander = await site.ConnectAsync();
        await wire.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.1\r\nHost: a\r\n\r\n");
        Response head = await wire.ReadHeadAsync();
        Assert.Equal(LargeSize.ToString(), head.Field("Content-Length"));

        Folder.SetLength(SiteFolder.Target(LargeSize), Left);
        (byte[] got, WireEnd end) = await wire.ReadToEndAsync();

        Assert.Equal(WireEnd.Reset, end);
        Assert.InRange(got.Length, 1, Left);
        Assert.True(got.AsSpan().SequenceEqual(bytes.AsSpan(0, got.Length)));
        (await bystander.GetAsync(Bystander)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task A_large_file_that_grew_is_answered_at_its_new_length()
    {
        byte[] bytes = [.. Folder.AddSized(StreamSize), .. new byte[1_000_000]];
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(StreamSize), bytes.Length);

        Response response = await wire.GetAsync(SiteFolder.Target(StreamSize));

        response.AssertIsWhole(bytes);
        Assert.Null(response.Field("ETag"));
        (await wire.GetAsync(Bystander)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task A_part_of_a_large_file_that_changed_is_answered_with_all_of_it()
    {
        byte[] bytes = Folder.AddSized(StreamSize);
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(StreamSize), 1000);

        await wire.SendAsync($"GET {SiteFolder.Target(StreamSize)} HTTP/1.1\r\nHost: a\r\nRange: bytes=500-999999\r\n\r\n");
        Response response = await wire.ReadResponseAsync();

        response.AssertIsWhole(bytes[..1000]);
        Assert.Null(response.Field("Content-Range"));
    }

    [Fact]
    public async Task A_file_of_one_read_that_grew_a_little_is_answered_at_its_new_length()
    {
        byte[] bytes = [.. Folder.AddSized(RingSize), 0];
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(RingSize), bytes.Length);

        Response response = await wire.GetAsync(SiteFolder.Target(RingSize));

        response.AssertIsWhole(bytes);
        AssertSpeaksOfNoVersion(response);
    }

    [Fact]
    public async Task A_file_of_one_read_that_was_written_over_is_sent_without_the_validators_of_its_old_version()
    {
        Folder.AddSized(RingSize);
        Wire wire = await (await StartAsync()).ConnectAsync();
        byte[] bytes = SiteFolder.Bytes(RingSize + 1)[1..];
        Folder.Overwrite(SiteFolder.Target(RingSize), bytes);

        Response response = await wire.GetAsync(SiteFolder.Target(RingSize));

        response.AssertIsWhole(bytes);
        AssertSpeaksOfNoVersion(response);
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_large_file_that_is_written_over_while_it_is_sent_ends_in_a_reset()
    {
        Folder.AddSized(LargeSize);
        Wire wire = await (await StartAsync()).ConnectAsync(receiveBufferBytes: 4096);
        await wire.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.1\r\nHost: a\r\n\r\n");
        _ = await wire.ReadHeadAsync();

        Folder.Overwrite(SiteFolder.Target(LargeSize), SiteFolder.Bytes(LargeSize + 1)[1..]);
        (byte[] got, WireEnd end) = await wire.ReadToEndAsync();

        Assert.Equal(WireEnd.Reset, end);
        Assert.InRange(got.Length, 1, LargeSize - 1);
    }

    [Fact]
    public async Task A_file_of_one_read_that_grew_much_is_sent_as_it_is_now_in_chunks()
    {
        byte[] bytes = [.. Folder.AddSized(RingSize), .. new byte[1_000_000]];
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(RingSize), bytes.Length);

        await wire.SendAsync($"GET {SiteFolder.Target(RingSize)} HTTP/1.1\r\nHost: a\r\n\r\n");
        Response head = await wire.ReadHeadAsync();
        byte[] body = await wire.ReadChunksAsync();

        Assert.Equal(200, head.Status);
        Assert.Equal("chunked", head.Field("Transfer-Encoding"));
        Assert.Null(head.Field("Content-Length"));
        AssertSpeaksOfNoVersion(head);
        Assert.True(body.AsSpan().SequenceEqual(bytes));
        (await wire.GetAsync(Bystander)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task A_file_of_one_read_that_grew_ends_the_connection_of_a_client_without_chunks()
    {
        byte[] bytes = [.. Folder.AddSized(RingSize), .. new byte[700_000]];
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(RingSize), bytes.Length);

        await wire.SendAsync($"GET {SiteFolder.Target(RingSize)} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        Response head = await wire.ReadHeadAsync();
        (byte[] body, WireEnd end) = await wire.ReadToEndAsync();

        Assert.Equal(WireEnd.Finished, end);
        Assert.Equal("close", head.Field("Connection"));
        Assert.Null(head.Field("Content-Length"));
        Assert.Null(head.Field("Transfer-Encoding"));
        Assert.True(body.AsSpan().SequenceEqual(bytes));
    }

    [Fact]
    public async Task A_file_of_one_read_that_changed_in_size_is_sent_without_the_validators_of_its_old_version()
    {
        Folder.AddSized(RingSize);
        Wire wire = await (await StartAsync()).ConnectAsync();
        Assert.NotNull((await wire.GetAsync(SiteFolder.Target(RingSize))).Field("ETag"));
        Folder.SetLength(SiteFolder.Target(RingSize), RingSize - 1);

        AssertSpeaksOfNoVersion(await wire.GetAsync(SiteFolder.Target(RingSize)));
    }

    [Fact]
    public async Task A_part_that_is_no_more_there_ends_in_a_reset()
    {
        Folder.AddSized(RingSize);
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(RingSize), 1000);

        await wire.SendAsync($"GET {SiteFolder.Target(RingSize)} HTTP/1.1\r\nHost: a\r\nRange: bytes=500-{RingSize - 1}\r\n\r\n");
        (_, WireEnd end) = await wire.ReadToEndAsync();

        Assert.Equal(WireEnd.Reset, end);
    }

    [Theory]
    [InlineData(RingSize - 1)]
    [InlineData(RingSize + 1)]
    public async Task A_range_of_all_bytes_is_these_bytes_or_ends_in_a_reset(int sizeNow)
    {
        byte[] bytes = Folder.AddSized(RingSize);
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(RingSize), sizeNow);

        await wire.SendAsync($"GET {SiteFolder.Target(RingSize)} HTTP/1.1\r\nHost: a\r\nRange: bytes=0-\r\n\r\n");
        if (sizeNow < RingSize)
        {
            (byte[] sent, WireEnd end) = await wire.ReadToEndAsync();
            Assert.Equal((0, WireEnd.Reset), (sent.Length, end));
            return;
        }

        Response response = await wire.ReadResponseAsync();
        Assert.Equal((206, $"bytes 0-{RingSize - 1}/{RingSize}"), (response.Status, response.Field("Content-Range")));
        Assert.True(response.Body.AsSpan().SequenceEqual(bytes));
    }

    [Theory]
    [InlineData("PUT", 405, "Allow")]
    [InlineData("GET", 416, "Content-Range")]
    public async Task An_error_whose_page_is_gone_or_another_stays_that_error(string method, int status, string field)
    {
        Folder.AddSized(1000);
        byte[] page = Folder.Add("/sorry.html", SiteFolder.Bytes(70));
        Wire wire = await (await StartAsync(static options => OnDemand(options) with
        {
            CacheFileBytesMax = 0,
            ErrorPages = new Dictionary<int, string> { [405] = "/sorry.html", [416] = "/sorry.html" },
        })).ConnectAsync();

        await AssertErrorAsync(page);
        await AssertErrorAsync(Folder.Add("/sorry.html", SiteFolder.Bytes(71)));
        File.Delete(Folder.PathOf("/sorry.html"));
        await AssertErrorAsync(null);

        async Task AssertErrorAsync(byte[]? body)
        {
            await wire.SendAsync($"{method} {Bystander} HTTP/1.1\r\nHost: a\r\nRange: bytes=1000-\r\n\r\n");
            Response response = await wire.ReadResponseAsync();
            Assert.Equal(status, response.Status);
            Assert.NotNull(response.Field(field));
            Assert.Equal(body ?? System.Text.Encoding.ASCII.GetBytes(response.StatusLine["HTTP/1.1 ".Length..] + "\r\n"), response.Body);
        }
    }

    [Fact]
    public async Task A_part_of_a_file_that_was_replaced_before_it_was_opened_is_answered_with_the_new_file_whole()
    {
        Folder.AddSized(RingSize);
        Wire wire = await (await StartAsync(OnDemand)).ConnectAsync();
        byte[] bytes = Folder.Add(SiteFolder.Target(RingSize), SiteFolder.Bytes(RingSize + 1));

        await wire.SendAsync($"GET {SiteFolder.Target(RingSize)} HTTP/1.1\r\nHost: a\r\nRange: bytes=5-9\r\n\r\n");
        Response response = await wire.ReadResponseAsync();

        response.AssertIsWhole(bytes);
        Assert.Null(response.Field("Content-Range"));
        Assert.Null(response.Field("ETag"));
    }

    [Fact]
    public async Task A_file_that_grows_while_it_is_sent_is_sent_in_the_length_that_was_announced()
    {
        byte[] bytes = Folder.AddSized(LargeSize);
        Wire wire = await (await StartAsync()).ConnectAsync(receiveBufferBytes: 4096);
        await wire.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.0\r\n\r\n");
        Response head = await wire.ReadHeadAsync();

        Folder.SetLength(SiteFolder.Target(LargeSize), LargeSize + 1_000_000);

        (head with { Body = await wire.ReadBytesAsync(LargeSize) }).AssertIsWhole(bytes);
        await wire.AssertEndsAsync();
    }

    [Theory]
    [InlineData(RingSize, 0)]
    [InlineData(RingSize, 10)]
    [InlineData(RingSize, StreamSize)]
    [InlineData(StreamSize, 0)]
    [InlineData(StreamSize, 10)]
    [InlineData(StreamSize, StreamSize + 300_000)]
    public async Task A_file_opened_on_demand_has_the_length_it_has_now(int size, int sizeNow)
    {
        Folder.AddSized(size);
        Wire wire = await (await StartAsync(OnDemand)).ConnectAsync();
        // Not truncated first: an empty file is one that the site may have seen, and be right to serve for a moment.
        byte[] bytes = SiteFolder.Bytes(sizeNow);
        Folder.Overwrite(SiteFolder.Target(size), bytes);
        Folder.SetLength(SiteFolder.Target(size), sizeNow);

        (await wire.GetAsync(SiteFolder.Target(size))).AssertIsWhole(bytes);
        await wire.SendAsync($"HEAD {SiteFolder.Target(size)} HTTP/1.1\r\nHost: a\r\n\r\n");
        Assert.Equal(sizeNow.ToString(), (await wire.ReadResponseAsync("HEAD")).Field("Content-Length"));
        (await wire.GetAsync(SiteFolder.Target(size))).AssertIsWhole(bytes);
    }

    [Theory]
    [InlineData(RingSize)]
    [InlineData(StreamSize)]
    public async Task A_file_opened_on_demand_that_was_deleted_is_answered_404(int size)
    {
        Folder.AddSized(size);
        Folder.AddSized(1000);
        Wire wire = await (await StartAsync(OnDemand)).ConnectAsync();
        File.Delete(Folder.PathOf(SiteFolder.Target(size)));

        Assert.Equal(404, (await wire.GetAsync(SiteFolder.Target(size))).Status);
        (await wire.GetAsync(Bystander)).AssertIsWhole(SiteFolder.Bytes(1000));

        Directory.CreateDirectory(Folder.PathOf(SiteFolder.Target(size)));
        Assert.Equal(404, (await wire.GetAsync(SiteFolder.Target(size))).Status);
    }

    [Theory]
    [InlineData(RingSize)]
    [InlineData(StreamSize)]
    public async Task A_held_file_that_was_deleted_or_replaced_is_sent_whole_as_it_was(int size)
    {
        byte[] bytes = Folder.AddSized(size);
        Wire wire = await (await StartAsync()).ConnectAsync();
        File.Delete(Folder.PathOf(SiteFolder.Target(size)));

        (await wire.GetAsync(SiteFolder.Target(size))).AssertIsWhole(bytes);
        Folder.Add(SiteFolder.Target(size), SiteFolder.Bytes(size + 1)[1..]);
        (await wire.GetAsync(SiteFolder.Target(size))).AssertIsWhole(bytes);
    }

    [Fact]
    public async Task A_reload_serves_the_new_files_and_a_download_under_way_ends_with_the_old_one()
    {
        byte[] old = Folder.AddSized(LargeSize);
        byte[] oldInMemory = Folder.Add("/small.bin", SiteFolder.Bytes(50_000));
        RunningSite site = await StartAsync();
        Wire slow = await site.ConnectAsync(receiveBufferBytes: 4096);
        Wire quick = await site.ConnectAsync();
        (await quick.GetAsync("/small.bin")).AssertIsWhole(oldInMemory);
        await slow.SendAsync($"GET {SiteFolder.Target(LargeSize)} HTTP/1.1\r\nHost: a\r\n\r\n");
        Response head = await slow.ReadHeadAsync();

        File.Delete(Folder.PathOf(SiteFolder.Target(LargeSize)));
        byte[] next = Folder.Add(SiteFolder.Target(LargeSize), SiteFolder.Bytes(StreamSize));
        byte[] nextInMemory = Folder.Add("/small.bin", SiteFolder.Bytes(50_001));
        Task oldIsFreed = site.Catalog.Current.Freed;
        site.Catalog.Reload();

        (await quick.GetAsync("/small.bin")).AssertIsWhole(nextInMemory);
        (await quick.GetAsync(SiteFolder.Target(LargeSize))).AssertIsWhole(next);
        Assert.False(oldIsFreed.IsCompleted);
        (head with { Body = await slow.ReadBytesAsync(LargeSize) }).AssertIsWhole(old);
        (await slow.GetAsync(SiteFolder.Target(LargeSize))).AssertIsWhole(next);
        await oldIsFreed.WaitAsync(TimeSpan.FromSeconds(60));
    }

    [Theory]
    [InlineData("1.1")]
    [InlineData("1.0")]
    public async Task What_rules_say_of_storing_it_is_dropped_however_it_is_written_and_for_whomever_it_is_meant(string version)
    {
        byte[] bytes = Folder.AddSized(RingSize);
        Folder.Add("/_headers", SiteFolder.RulesOfStoring);
        Wire wire = await (await StartAsync()).ConnectAsync();
        Folder.SetLength(SiteFolder.Target(RingSize), 99_999);

        await wire.SendAsync($"GET {SiteFolder.Target(RingSize)} HTTP/{version}\r\nHost: a\r\n\r\n");
        Response response = await wire.ReadResponseAsync();

        response.AssertIsWhole(bytes[..99_999]);
        AssertSpeaksOfNoVersion(response);
        Assert.Equal("kept", response.Field("X-Kept"));
        Assert.All(["CDN-Cache-Control", "Surrogate-Control", "Expires"], name => Assert.Null(response.Field(name)));
    }

    private static void AssertSpeaksOfNoVersion(Response response)
    {
        Assert.Null(response.Field("ETag"));
        Assert.Null(response.Field("Last-Modified"));
        Assert.Equal("no-store", response.Field("Cache-Control"));
    }

    /// <summary>What arrived is a beginning of the response: a head and a body that its end cut off.</summary>
    private static void AssertIsPartOf(byte[] response, byte[] body)
    {
        int headEnd = response.AsSpan().IndexOf("\r\n\r\n"u8);
        if (headEnd >= 0)
        {
            byte[] got = response[(headEnd + 4)..];
            Assert.InRange(got.Length, 0, body.Length);
            Assert.True(got.AsSpan().SequenceEqual(body.AsSpan(0, got.Length)));
        }
    }
}
