using System.Text;
using Millrace.Http;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Scanning;
using Millrace.StaticFiles.Snapshots;
using Millrace.Tests.Shared;

namespace Millrace.HttpServer.Tests.Http2;

/// <summary>Files that change or fail under answers, requests that wait off the reactor, answers that are nobody else's.</summary>
public class FileTests : SiteFixture
{
    private const uint Window = 64 * 1024 * 1024;
    private const int RingSize = 100_000;
    private const int StreamSize = 1024 * 1024;
    private const int LargeSize = 32 * 1024 * 1024;
    private const string Bystander = "/f1000.bin";

    [Theory]
    [InlineData(0)]
    [InlineData(70_000)]
    [InlineData(RingSize - 1)]
    public Task A_file_of_one_read_that_shrank_is_answered_as_it_is(int left) => AssertCutAsync(RingSize, left);

    [Theory]
    [InlineData(0)]
    [InlineData(70_000)]
    [InlineData(StreamSize - 1)]
    public Task A_large_file_that_shrank_is_answered_as_it_is(int left) => AssertCutAsync(StreamSize, left);

    [Fact]
    public async Task A_file_that_grew_or_was_written_over_is_sent_without_the_validators_of_its_old_version()
    {
        Folder.AddSized(RingSize);
        Folder.AddSized(RingSize + 1);
        Http2Wire client = await OpenAsync();
        byte[] grown = [.. SiteFolder.Bytes(RingSize), 0];
        byte[] other = SiteFolder.Bytes(RingSize)[..RingSize];
        Folder.SetLength(SiteFolder.Target(RingSize), RingSize + 1);
        Folder.Overwrite(SiteFolder.Target(RingSize + 1), other);

        Response response = await client.GetAsync(1, SiteFolder.Target(RingSize));
        response.AssertIsWhole(grown);
        AssertSpeaksOfNoVersion(response);
        response = await client.GetAsync(3, SiteFolder.Target(RingSize + 1));
        response.AssertIsWhole([.. other, SiteFolder.Bytes(RingSize + 1)[^1]]);
        AssertSpeaksOfNoVersion(response);
    }

    /// <summary>It is opened twice: when the response is planned, and when its turn comes.</summary>
    [Theory]
    [InlineData(100_000)]
    [InlineData(49_000)]
    [InlineData(0)]
    public async Task A_coded_sibling_that_is_gone_when_its_turn_comes_gives_way_to_the_original(int size)
    {
        const string Target = "/f.js";
        byte[] content = Folder.Add(Target, SiteFolder.Bytes(size));
        Folder.AddGzip(Target, content);
        var files = new GoneAtSecondOpening(".js.gz"u8.ToArray());
        RunningSite site = await base.StartAsync(
            options => options with { DescriptorsMax = 0, CacheFileBytesMax = size == 49_000 ? 50_000 : 0 }, files: files);
        Http2Wire client = await OpenAsync(site);

        Response response = await client.GetAsync(1, Target, "accept-encoding: gzip");
        Assert.Equal(size == 0 ? 0 : 2, files.Openings);
        response.AssertIsWhole(content);
        Assert.Null(response.Field("content-encoding"));
        if (size > 0)
        {
            AssertSpeaksOfNoVersion(response);
        }
    }

    [Fact]
    public async Task A_changed_file_that_no_window_lets_through_in_one_piece_is_sent_as_far_as_it_goes()
    {
        Folder.AddSized(RingSize);
        Http2Wire client = await Http2Wire.OpenAsync(await StartAsync());
        Folder.SetLength(SiteFolder.Target(RingSize), RingSize + 5000);

        Response response = await client.GetAsync(1, SiteFolder.Target(RingSize));

        Assert.Equal([.. SiteFolder.Bytes(RingSize), .. new byte[5000]], response.Body);
        Assert.Null(response.Field("content-length"));
        AssertSpeaksOfNoVersion(response);
    }

    [Fact]
    public async Task A_part_of_a_file_that_changed_is_a_reset_and_others_go_on()
    {
        Folder.AddSized(RingSize);
        Http2Wire client = await OpenAsync();
        Folder.SetLength(SiteFolder.Target(RingSize), 500);
        await client.SendAsync(Frame.Headers(1, Block.Get(SiteFolder.Target(RingSize), "range: bytes=1000-1999")));

        await client.AssertResetsAsync(1, Http2Error.InternalError);
    }

    [Fact]
    public async Task A_file_that_shrinks_while_it_is_sent_ends_in_a_reset_and_others_go_on()
    {
        byte[] bytes = Folder.AddSized(LargeSize);
        Folder.AddSized(StreamSize);
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Get(SiteFolder.Target(LargeSize))));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        Folder.SetLength(SiteFolder.Target(LargeSize), LargeSize / 2);
        await client.SendAsync(Frame.Headers(3, Block.Get(SiteFolder.Target(StreamSize))));

        Assert.Equal(Http2Error.InternalError, (await client.ReadAsync(1)).Reset);
        byte[] got = client.Of(1).Body.ToArray();
        Assert.True(bytes.AsSpan().StartsWith(got));
        Assert.InRange(got.Length, 1, LargeSize / 2);
        (await client.ReadResponseAsync(3)).AssertIsWhole(SiteFolder.Bytes(StreamSize));
    }

    [Fact]
    public async Task A_file_that_is_written_over_while_it_is_sent_ends_in_a_reset()
    {
        Folder.AddSized(LargeSize);
        Http2Wire client = await OpenAsync();
        await client.SendAsync(Frame.Headers(1, Block.Get(SiteFolder.Target(LargeSize))));
        await client.TakeAsync(await client.ReadUntilAsync(FrameType.Headers));
        Folder.Overwrite(SiteFolder.Target(LargeSize), SiteFolder.Bytes(LargeSize + 1)[1..]);

        await client.AssertResetsAsync(1, Http2Error.InternalError);
    }

    [Fact]
    public async Task A_disk_that_fails_is_answered_500_and_others_go_on()
    {
        Folder.AddSized(RingSize);
        RunningSite site = await StartAsync();
        Http2Wire client = await OpenAsync(site);
        (await client.GetAsync(1, SiteFolder.Target(RingSize))).AssertIsWhole(SiteFolder.Bytes(RingSize));
        Assert.Equal(1, BadDisk.Fail(Folder.PathOf(SiteFolder.Target(RingSize))));

        Assert.Equal(500, (await client.GetAsync(3, SiteFolder.Target(RingSize))).Status);
        Assert.Equal(500, (await client.GetAsync(5, SiteFolder.Target(RingSize), "range: bytes=5-6")).Status);
        Assert.Equal(404, (await client.GetAsync(7, "/none")).Status);
        Assert.Contains("Input/output error", Assert.Single(site.TakeWarnings()), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Clients_that_go_away_while_files_are_read_leave_nothing_behind()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync();
        for (int i = 0; i < 50; i++)
        {
            Http2Wire client = await OpenAsync(site);
            await client.SendAsync([.. Enumerable.Range(0, 10).Select(static n =>
                Frame.Headers((2 * n) + 1, Block.Get(SiteFolder.Target(LargeSize), "priority: i")))]);
            if (i % 2 == 0)
            {
                await client.ReadUntilAsync(FrameType.Data);
            }

            client.Wire.Reset();
        }
    }

    [Fact]
    public async Task Streams_that_are_reset_while_files_are_read_leave_nothing_behind()
    {
        Folder.AddSized(LargeSize);
        RunningSite site = await StartAsync();
        Http2Wire client = await OpenAsync(site);
        for (int i = 0; i < 100; i++)
        {
            await client.SendAsync(Frame.Headers((2 * i) + 1, Block.Get(SiteFolder.Target(LargeSize))));
            await client.SettleAsync();
            await client.SendAsync(Frame.Reset((2 * i) + 1));
        }

        await client.SettleAsync();
        (await client.GetAsync(1001, Bystander)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    [Fact]
    public async Task Requests_whose_site_is_looked_at_are_answered_by_what_is_there()
    {
        Folder.AddSized(RingSize);
        Http2Wire client = await OpenAsync(await StartAsync(static site => site with { Watch = WatchMode.Revalidate }));
        await client.SendAsync([.. Enumerable.Range(0, 40).Select(static n =>
            Frame.Headers((2 * n) + 1, Block.Get(n % 2 == 0 ? SiteFolder.Target(RingSize) : Bystander)))]);
        for (int n = 0; n < 40; n++)
        {
            (await client.ReadResponseAsync((2 * n) + 1)).AssertIsWhole(SiteFolder.Bytes(n % 2 == 0 ? RingSize : 1000));
        }

        await client.SendAsync(Frame.Headers(101, Block.Get(Bystander)), Frame.Reset(101));
        (await client.GetAsync(103, Bystander)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    /// <summary>So much of its body has come meanwhile that the response ends its stream at once, which may be another's then.</summary>
    [Fact]
    public async Task A_413_after_a_look_at_the_site_is_no_matter_of_the_next_request()
    {
        Http2Wire client = await OpenAsync(await StartAsync(
            static site => site with { Watch = WatchMode.Revalidate }, new HttpServerLimits { SkippedBodyBytesMax = 10 }));
        await client.SendAsync(
            Frame.Headers(1, Block.Get(Bystander, "content-length: 1000"), FrameFlags.EndHeaders),
            Frame.Data(1, new byte[100], FrameFlags.None));
        Frame reset = await client.ReadUntilAsync(FrameType.RstStream);
        Assert.Equal((1, Http2Error.NoError), (reset.StreamId, reset.Error));
        Assert.Equal(413, (await client.ReadResponseAsync(1)).Status);

        await client.SendAsync(Frame.Headers(3, Block.Request("POST", "/none", "content-length: 3"), FrameFlags.EndHeaders));
        Assert.Equal(405, (await client.ReadResponseAsync(3)).Status);
        await client.SendAsync(Frame.Data(3, [1, 2, 3]));
        await client.SettleAsync();

        Assert.Null(client.Of(3).Reset);
    }

    [Fact]
    public async Task Each_request_is_checked_by_its_own_credentials_and_none_waits_for_anothers()
    {
        // "right", as cheap as SHA-512 crypt allows.
        const string Hash =
            "$6$rounds=1000$saltstring$mEmMR6JdPLut3.0gCFgR5..jVisIB2iqApHuJY0D8mBBbgY4CBuL2l.0PZBw0ZwEixXjvEmZnqlHGGNBHNeif.";
        string file = Folder.Root + ".passwords";
        await File.WriteAllTextAsync(file, $"ann:{Hash}\n", TestContext.Current.CancellationToken);
        try
        {
            Folder.AddSized(RingSize);
            Http2Wire client = await OpenAsync(await StartAsync(site => site with { PasswordFile = file }));
            (string? Password, int Status)[] requests =
                [("right", 200), (null, 401), ("wrong", 401), ("right", 200), ("new", 401), ("right", 200)];
            await client.SendAsync([.. requests.Select(static (request, n) =>
                Frame.Headers((2 * n) + 1, Block.Get(SiteFolder.Target(RingSize), Authorization(request.Password))))]);

            // Sent last, and refused without a hash.
            Assert.Equal(401, (await client.ReadResponseAsync(3)).Status);
            for (int n = 0; n < requests.Length; n++)
            {
                Assert.Equal((n, requests[n].Status), (n, (await client.ReadResponseAsync((2 * n) + 1)).Status));
            }
        }
        finally
        {
            File.Delete(file);
        }
    }

    [Fact]
    public async Task What_rules_say_of_storing_one_that_changed_is_dropped_for_whomever_it_is_meant()
    {
        byte[] bytes = Folder.AddSized(RingSize);
        Folder.Add("/_headers", SiteFolder.RulesOfStoring);
        Http2Wire client = await OpenAsync();
        Folder.SetLength(SiteFolder.Target(RingSize), 99_999);

        Response response = await client.GetAsync(1, SiteFolder.Target(RingSize));

        response.AssertIsWhole(bytes[..99_999]);
        AssertSpeaksOfNoVersion(response);
        Assert.Equal("kept", response.Field("x-kept"));
        Assert.All(["cdn-cache-control", "surrogate-control", "expires"], name => Assert.Null(response.Field(name)));
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_hundred_clients_have_their_own_bytes_each()
    {
        Folder.AddSizes();
        RunningSite site = await StartAsync(engine: new Engine.EngineOptions { Reactors = 2 });
        await Task.WhenAll(Enumerable.Range(0, 100).Select(async n =>
        {
            Http2Wire client = await Http2Wire.OpenAsync(site);
            int[] sizes = [.. SiteFolder.Sizes.Skip(n % 7)];
            await client.SendAsync([.. sizes.Select((size, i) =>
                Frame.Headers((2 * i) + 1, Block.Get(SiteFolder.Target(size), n % 2 == 0 ? "priority: i" : "priority: u=1")))]);
            for (int i = 0; i < sizes.Length; i++)
            {
                (await client.ReadResponseAsync((2 * i) + 1)).AssertIsWhole(SiteFolder.Bytes(sizes[i]));
            }
        }));
    }

    private static string[] Authorization(string? password) => password is null
        ? []
        : [$"authorization: Basic {Convert.ToBase64String(Encoding.UTF8.GetBytes($"ann:{password}"))}"];

    private static void AssertSpeaksOfNoVersion(Response response)
    {
        Assert.Null(response.Field("etag"));
        Assert.Null(response.Field("last-modified"));
        Assert.Null(response.Field("accept-ranges"));
        Assert.Equal("no-store", response.Field("cache-control"));
    }

    private async Task AssertCutAsync(int size, int left)
    {
        byte[] bytes = Folder.AddSized(size);
        Http2Wire client = await OpenAsync();
        Folder.SetLength(SiteFolder.Target(size), left);

        Response response = await client.GetAsync(1, SiteFolder.Target(size));

        response.AssertIsWhole(bytes[..left]);
        Assert.Null(response.Field("etag"));
        (await client.GetAsync(3, Bystander)).AssertIsWhole(SiteFolder.Bytes(1000));
    }

    private async Task<Http2Wire> OpenAsync() => await OpenAsync(await StartAsync());

    /// <summary>A client whose windows never are in the way.</summary>
    private static async Task<Http2Wire> OpenAsync(RunningSite site)
    {
        Http2Wire client = await Http2Wire.OpenAsync(site, true, 0, (SettingId.InitialWindowSize, Window));
        await client.SendAsync(Frame.WindowUpdate(0, Window));
        return client;
    }

    private protected Task<RunningSite> StartAsync(
        Func<SiteOptions, SiteOptions>? site = null, HttpServerLimits? limits = null, Engine.EngineOptions? engine = null)
    {
        Folder.AddSized(1000);
        return base.StartAsync(site, limits, engine);
    }

    /// <summary>A file of this name is opened once, and then it is not there.</summary>
    private sealed class GoneAtSecondOpening(byte[] end) : AssetFiles
    {
        public int Openings { get; private set; }

        public override int Open(RootDirectory root, ReadOnlySpan<byte> relativePathZ)
        {
            const int NoSuchFile = 2;
            return relativePathZ.TrimEnd((byte)0).EndsWith(end) && ++Openings > 1 ? -NoSuchFile : base.Open(root, relativePathZ);
        }
    }
}
