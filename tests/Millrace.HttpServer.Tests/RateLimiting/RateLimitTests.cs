using System.Diagnostics;
using System.Net;
using Millrace.Engine;
using Millrace.HttpServer.Clients;
using Millrace.HttpServer.Tests.Http2.Kit;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Rules;

namespace Millrace.HttpServer.Tests.RateLimiting;

/// <summary>Clients that ask too much, over sockets.</summary>
public class RateLimitTests : SiteFixture
{
    private const string Small = "/f1000.bin";

    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(8)]
    public async Task All_connections_of_a_client_share_one_bucket(int reactors)
    {
        const int Burst = 100;
        RunningSite site = await StartAsync(reactors, $"1/h burst {Burst}");
        Wire[] wires = await Task.WhenAll(Enumerable.Range(0, 16).Select(_ => site.ConnectAsync()));

        int[] admitted = await Task.WhenAll(wires.Select(static async wire =>
        {
            int count = 0;
            for (int i = 0; i < 20; i++)
            {
                count += (await wire.GetAsync(Small)).Status == 200 ? 1 : 0;
            }

            return count;
        }));

        Assert.Equal(Burst, admitted.Sum());
        Wire other = await site.ConnectFromAsync(IPAddress.Parse("127.0.0.2"));
        Assert.Equal(200, (await other.GetAsync(Small)).Status);
        Assert.Single(site.TakeWarnings());
    }

    [Fact]
    public async Task A_refusal_says_when_to_come_back_and_keeps_the_connection()
    {
        RunningSite site = await StartAsync(1, "/f* 2/m");
        Wire wire = await site.ConnectAsync();
        Assert.Equal(200, (await wire.GetAsync(Small)).Status);
        Assert.Null((await wire.GetAsync(Small)).Field("RateLimit"));

        Response refused = await wire.GetAsync(Small);

        Assert.Equal(429, refused.Status);
        Assert.InRange(int.Parse(refused.Field("Retry-After")!, null), 28, 30);
        Assert.Equal("\"/f* 2/m\";q=2;w=60", refused.Field("RateLimit-Policy"));
        Assert.Equal($"\"/f* 2/m\";r=0;t={refused.Field("Retry-After")}", refused.Field("RateLimit"));
        Assert.Equal("429 Too Many Requests\r\n", refused.Text);
        Assert.Equal(404, (await wire.GetAsync("/missing")).Status);
        string warning = Assert.Single(site.TakeWarnings());
        Assert.Contains("/f* 2/m", warning, StringComparison.Ordinal);
        Assert.Contains("127.0.0.1", warning, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_refusal_has_the_page_and_the_fields_of_the_site()
    {
        Folder.Add("429.html", "Slowly, please."u8.ToArray());
        RunningSite site = await StartAsync(1, "1/h", static options => options with
        {
            ErrorPages = new Dictionary<int, string> { [429] = "/429.html" },
            Fields = [new FieldRule("*", "X-Site", "a")],
        });
        Wire wire = await site.ConnectAsync();
        Assert.Equal(200, (await wire.GetAsync(Small)).Status);

        Response refused = await wire.GetAsync(Small);

        Assert.Equal((429, "Slowly, please.", "a"), (refused.Status, refused.Text, refused.Field("X-Site")));
        await wire.SendAsync($"HEAD {Small} HTTP/1.1\r\nHost: a\r\n\r\n");
        Assert.Equal(429, (await wire.ReadResponseAsync("HEAD")).Status);
        await wire.SendAsync($"POST {Small} HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
        Assert.Equal(429, (await wire.ReadResponseAsync()).Status);
        await wire.SendAsync($"POST {Small} HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\nExpect: 100-continue\r\n\r\n");
        Assert.Equal(429, (await wire.ReadResponseAsync()).Status);
        await wire.AssertEndsAsync();
        _ = site.TakeWarnings();
    }

    [Fact]
    public async Task Streams_count_as_requests_do()
    {
        RunningSite site = await StartAsync(2, "1/h burst 3");
        Http2Wire client = await Http2Wire.OpenAsync(site, true, 0);
        for (int i = 0; i < 3; i++)
        {
            (await client.GetAsync((2 * i) + 1, Small)).AssertIsWhole(SiteFolder.Bytes(1000));
        }

        Response refused = await client.GetAsync(7, Small);

        Assert.Equal((429, "\"1/h\";q=1;w=3600"), (refused.Status, refused.Field("ratelimit-policy")));
        Assert.Equal(429, (await (await site.ConnectAsync()).GetAsync(Small)).Status);
        _ = site.TakeWarnings();
    }

    [Fact]
    public async Task A_request_that_waits_for_its_site_counts_once()
    {
        RunningSite site = await StartAsync(1, "1/h burst 3", static options => options with { Watch = WatchMode.Revalidate });
        Wire wire = await site.ConnectAsync();
        Http2Wire client = await Http2Wire.OpenAsync(site, true, 0);
        Assert.Equal(200, (await wire.GetAsync(Small)).Status);
        Assert.Equal(200, (await client.GetAsync(1, Small)).Status);
        Assert.Equal(200, (await wire.GetAsync(Small)).Status);
        Assert.Equal(429, (await client.GetAsync(3, Small)).Status);
        _ = site.TakeWarnings();
    }

    [Fact]
    public async Task Passwords_are_not_even_verified_beyond_the_limit()
    {
        using var keys = new SiteFolder();
        keys.Add("passwords", "jane:$2y$05$aaaaaaaaaaaaaaaaaaaaauDc5Bl9JYcfUTnqGZFSZhlHqSLvJRSS6\n"u8.ToArray());
        RunningSite site = await StartAsync(
            1, "2/h", options => options with { PasswordRules = [new PasswordRule("/secret/*", keys.PathOf("passwords"))] });
        Wire wire = await site.ConnectAsync();
        Assert.Equal(401, (await wire.GetAsync("/secret/x")).Status);
        Assert.Equal(401, (await wire.GetAsync("/secret/x")).Status);
        Response refused = await wire.GetAsync("/secret/x");
        Assert.Equal((429, null), (refused.Status, refused.Field("WWW-Authenticate")));
        _ = site.TakeWarnings();
    }

    [Fact]
    public async Task Behind_a_trusted_proxy_the_clients_that_it_reports_count()
    {
        FindsClients = new ClientFinder(new ClientOptions { Trusted = [IPNetwork.Parse("127.0.0.1/32")] });
        RunningSite site = await StartAsync(1, "1/h");
        Wire proxy = await site.ConnectAsync();
        Assert.Equal(200, await AskFor(proxy, "192.0.2.1"));
        Assert.Equal(429, await AskFor(proxy, "192.0.2.1"));
        Assert.Equal(200, await AskFor(proxy, "192.0.2.2"));
        Assert.Equal(200, await AskFor(proxy, "9.9.9.9, 2001:db8::1"));
        Assert.Equal(429, await AskFor(proxy, "8.8.8.8, 2001:db8::2"));

        Wire stranger = await site.ConnectFromAsync(IPAddress.Parse("127.0.0.2"));
        Assert.Equal(200, await AskFor(stranger, "192.0.2.3"));
        Assert.Equal(429, await AskFor(stranger, "192.0.2.4"));
        _ = site.TakeWarnings();
    }

    // Sleeps: the clock of the reactors is the kernel's. The sites wait at the same time.
    [Fact]
    [Trait("Duration", "Full")]
    public async Task Ten_seconds_are_right_to_five_percent_with_one_two_and_eight_reactors()
    {
        var sites = new List<RunningSite>();
        foreach (int reactors in (int[])[1, 2, 8])
        {
            sites.Add(await StartAsync(reactors, "100/s burst 50"));
        }

        (int Admitted, double Expected)[] counts = await Task.WhenAll(sites.Select(AskForTenSecondsAsync));

        Assert.All(counts, static each => Assert.InRange(each.Admitted, 0.95 * each.Expected, 1.05 * each.Expected));
        sites.ForEach(static site => site.TakeWarnings());
    }

    private static async Task<(int Admitted, double Expected)> AskForTenSecondsAsync(RunningSite site)
    {
        Wire[] wires = await Task.WhenAll(Enumerable.Range(0, 16).Select(_ => site.ConnectAsync()));
        long startedAt = Stopwatch.GetTimestamp();
        int[] admitted = await Task.WhenAll(wires.Select(async wire =>
        {
            int count = 0;
            while (Stopwatch.GetElapsedTime(startedAt) < TimeSpan.FromSeconds(10))
            {
                count += (await wire.GetAsync(Small)).Status == 200 ? 1 : 0;
                await Task.Delay(20, TestContext.Current.CancellationToken);
            }

            return count;
        }));
        return (admitted.Sum(), (100 * Stopwatch.GetElapsedTime(startedAt).TotalSeconds) + 50);
    }

    private static async Task<int> AskFor(Wire wire, string client)
    {
        await wire.SendAsync($"GET {Small} HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {client}\r\n\r\n");
        return (await wire.ReadResponseAsync()).Status;
    }

    private Task<RunningSite> StartAsync(int reactors, string rule, Func<SiteOptions, SiteOptions>? change = null)
    {
        Folder.AddSized(1000);
        return StartAsync(
            options => (change?.Invoke(options) ?? options) with { RateLimits = [RateLimitRule.Parse(rule)] },
            engine: new EngineOptions { Reactors = reactors });
    }
}
