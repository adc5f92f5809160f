using System.Security.Cryptography;
using Microsoft.Playwright;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 with a Chromium of the machine.</summary>
public class ChromiumTests
{
    [Fact]
    public async Task A_page_of_a_hundred_parts_is_loaded_whole()
    {
        BrowserSession.Require();
        await using Http3Site site = await Http3Site.StartAsync(static folder => HundredParts.Write(folder));
        await using BrowserSession browser = await BrowserSession.StartWithQuicAsync(site.KeyHash, site.Port);

        IPage page = await browser.OpenAsync(await browser.NewProfileAsync(), site.Url);

        int[] loaded = await page.EvaluateAsync<int[]>(HundredParts.Count);
        Assert.Equal([40, 30, 30], loaded);
        await page.WaitForFunctionAsync($"() => {HundredParts.Protocols}.length >= 101");
        Assert.Equal(Enumerable.Repeat("h3", 101), await page.EvaluateAsync<string[]>($"() => {HundredParts.Protocols}"));
        Assert.Empty(browser.Troubles);
        string log = await site.AwaitLogAsync(" HTTP/3.0\"", 101);
        Assert.DoesNotContain(" HTTP/2.0\"", log, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_sample_site_loads_whole_and_a_second_visit_is_answered_by_304()
    {
        BrowserSession.Require();
        await using Http3Site site = await Http3Site.StartAsync(static folder => CopySample(folder));
        await using BrowserSession browser = await BrowserSession.StartWithQuicAsync(site.KeyHash, site.Port);
        IBrowserContext profile = await browser.NewProfileAsync();

        IPage page = await browser.OpenAsync(profile, site.Url);
        await page.Locator("#year svg rect").First.WaitForAsync(new() { State = WaitForSelectorState.Attached });
        await page.ReloadAsync();
        await page.Locator("#year svg rect").First.WaitForAsync(new() { State = WaitForSelectorState.Attached });

        Assert.All(browser.Statuses, static loaded => Assert.True(loaded.Value is 200 or 304, $"{loaded.Key}: {loaded.Value}"));
        Assert.Contains(304, browser.Statuses.Values);
        browser.AssertNothingWorseThanDropped();
    }

    [Fact]
    public async Task A_large_download_arrives_whole() => await DownloadAsync(20_000_000);

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_file_of_100_megabytes_arrives_whole() => await DownloadAsync(100_000_000);

    [Theory]
    [InlineData(0.01)]
    [InlineData(0.05)]
    [InlineData(0.1)]
    [Trait("Rfc", "9002-6")]
    public async Task Lost_packets_in_both_directions_are_sent_again(double loss)
    {
        BrowserSession.Require();
        await using Http3Site site = await StartAsync([1, 1_000_000]);
        await using var relay = new DatagramRelay(site.Port, new DatagramRelayOptions { Loss = loss });
        await AssertArriveAsync(site, relay.Port, [1, 1_000_000]);
        Assert.InRange(await site.ReadMetricAsync("millrace_quic_packets_lost_total"), 1, double.MaxValue);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public async Task A_client_that_is_sent_a_retry_comes_back_with_its_token()
    {
        BrowserSession.Require();
        await using Http3Site site = await StartAsync([100_000], "--reactors", "1");
        await UnfinishedHandshakes.RetryAsync(site, port => AssertArriveAsync(site, port, [100_000]));
    }

    /// <summary>The server closes the first connection when it was idle for a second.</summary>
    [Fact]
    [Trait("Rfc", "9001-4.5")]
    public async Task A_client_resumes_its_session()
    {
        BrowserSession.Require();
        using var events = new TempFolder();
        await using Http3Site site = await StartAsync([1_000], "--keep-alive-timeout", "1", "--qlog", events.Root);
        await using BrowserSession browser = await BrowserSession.StartWithQuicAsync(site.KeyHash, site.Port);
        IPage page = await browser.OpenAsync(await browser.NewProfileAsync(), site.Url);
        await site.AwaitNoConnectionsAsync();
        Assert.Equal(HashOf(site, 1_000), await page.EvaluateAsync<string>(PageScripts.HashOf, "1000.bin"));
        Assert.Equal(2, await site.ReadMetricAsync("millrace_quic_handshakes_total", ("outcome", "complete")));
        await QlogFiles.AwaitResumedAsync(events);
    }

    /// <summary>By a flag of its library for QUIC, which is otherwise set by experiments. It counts the packets that are sent.</summary>
    [Fact]
    [Trait("Rfc", "9001-6")]
    public async Task A_client_that_updates_its_keys_is_followed()
    {
        BrowserSession.Require();
        using var events = new TempFolder();
        await using Http3Site site = await StartAsync([20_000_000], "--qlog", events.Root);
        await AssertArriveAsync(
            site, site.Port, [20_000_000], "--force-fieldtrials=QUIC/Enabled",
            "--force-fieldtrial-params=QUIC.Enabled:set_quic_flags/FLAGS_quic_key_update_confidentiality_limit%3D200");
        await QlogFiles.AwaitEventAsync(events, "security:key_updated");
    }

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("127.0.0.2")]
    [Trait("Rfc", "9000-9.3")]
    public async Task A_client_whose_address_is_changed_by_a_nat_is_followed(string address)
    {
        BrowserSession.Require();
        await using Http3Site site = await StartAsync([20_000_000], "--reactors", "2");
        await using var relay = new DatagramRelay(site.Port, DatagramRelayOptions.Moving(address));
        await AssertArriveAsync(site, relay.Port, [20_000_000]);
        Assert.Equal(1, relay.Moves);
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_migrations_total"));
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_handshakes_total"));
    }

    [Fact]
    [Trait("Rfc", "9000-10.2")]
    public async Task A_client_that_leaves_early_leaves_nothing_behind()
    {
        BrowserSession.Require();
        await using Http3Site site = await StartAsync([50_000_000, 1_000], "--keep-alive-timeout", "10");
        await using (BrowserSession browser = await BrowserSession.StartWithQuicAsync(site.KeyHash, site.Port))
        {
            IPage page = await browser.OpenAsync(await browser.NewProfileAsync(), site.Url);
            Assert.InRange(await page.EvaluateAsync<int>(PageScripts.AbortOneAndBeginAnother, "50000000.bin"), 1, int.MaxValue);
            Assert.Equal(HashOf(site, 1_000), await page.EvaluateAsync<string>(PageScripts.HashOf, "1000.bin"));
        }

        await site.AwaitNoConnectionsAsync();
        await AssertArriveAsync(site, site.Port, [1_000]);
        Assert.Equal(0, await site.ReadMetricAsync("millrace_quic_connections_failed_total"));
    }

    private static async Task DownloadAsync(int size)
    {
        BrowserSession.Require();
        await using Http3Site site = await StartAsync([size]);
        await AssertArriveAsync(site, site.Port, [size]);
    }

    private static Task<Http3Site> StartAsync(int[] sizes, params string[] flags) => Http3Site.StartWithMetricsAsync(
        folder =>
        {
            folder.WriteText("index.html", "<!doctype html><title>t</title><link rel=icon href=data:,>");
            Array.ForEach(sizes, size => folder.Add($"{size}.bin", size));
        },
        flags);

    private static string HashOf(Http3Site site, int size)
    {
        using FileStream file = File.OpenRead(site.Folder.PathOf($"{size}.bin"));
        return Convert.ToHexStringLower(SHA256.HashData(file));
    }

    /// <summary>Fetches files of these sizes at once from a page, and compares them.</summary>
    private static async Task AssertArriveAsync(Http3Site site, int port, int[] sizes, params string[] flags)
    {
        await using BrowserSession browser = await BrowserSession.StartWithQuicAsync(site.KeyHash, port, flags);
        IPage page = await browser.OpenAsync(await browser.NewProfileAsync(), new Uri($"https://localhost:{port}/"));
        string hashes = await page.EvaluateAsync<string>(PageScripts.HashesOf, sizes.Select(static size => $"{size}.bin"));
        Assert.Equal(sizes.Select(size => HashOf(site, size)), hashes.Split(','));
        string log = await site.AwaitLogAsync(" HTTP/3.0\"", sizes.Length + 1);
        Assert.DoesNotContain(" HTTP/2.0\"", log, StringComparison.Ordinal);
    }

    private static void CopySample(TempFolder folder)
    {
        foreach (string target in Places.SampleTargets)
        {
            string copy = folder.PathOf(target[1..]);
            Directory.CreateDirectory(Path.GetDirectoryName(copy)!);
            File.Copy(Places.SampleSite + target, copy);
        }
    }
}
