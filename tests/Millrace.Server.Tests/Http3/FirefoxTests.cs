using System.Diagnostics;
using System.Globalization;
using System.Security.Cryptography;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3;

/// <summary>HTTP/3 with a Firefox of the machine, whose pages report what they have seen by the last request that they make.</summary>
public class FirefoxTests
{
    private const string Firefox = "firefox-esr";

    private static readonly string[] Quiet =
    [
        "\"network.http.http3.disable_when_third_party_roots_found\", false",
        "\"browser.shell.checkDefaultBrowser\", false",
        "\"browser.aboutwelcome.enabled\", false",
        "\"datareporting.policy.dataSubmissionEnabled\", false",
        "\"toolkit.telemetry.enabled\", false",
        "\"app.update.enabled\", false",
        "\"network.captive-portal-service.enabled\", false",
        "\"network.connectivity-service.enabled\", false",
        "\"extensions.getAddons.cache.enabled\", false",
        "\"services.settings.server\", \"http://localhost:9\"",
        "\"network.dns.disableIPv6\", true",

        // On a busy machine HTTP/2 would be faster, and the origin's HTTP/3 be given up.
        "\"network.http.http3.backup_timer_delay\", 60000",
        "\"network.http.http3.parallel_fallback_conn_limit\", 0",
    ];

    [Fact]
    public async Task A_page_of_a_hundred_parts_is_loaded_whole()
    {
        Require();
        const string report =
            "onload = async () => { "
            + "const counts = (" + HundredParts.Count + ")(); "
            + "const old = performance.getEntriesByType('resource')"
            + ".filter(one => one.name.startsWith('https:') && one.nextHopProtocol !== 'h3').length; "
            + "await fetch('/seen-' + counts.join('-') + '-' + old); };";
        await using Http3Site site = await Http3Site.StartAsync(static folder => HundredParts.Write(folder, report));
        using Process browser = await StartAsync(site, $"\"network.http.http3.alt-svc-mapping-for-testing\", \"localhost;h3=:{site.Port}\"");
        try
        {
            string log = await site.AwaitLogAsync("GET /seen-");
            Assert.Equal("/seen-40-30-30-0 HTTP/3.0", log[(log.IndexOf("GET /seen-", StringComparison.Ordinal) + 4)..].Split('"')[0]);
            // The page itself may come by HTTP/2, where the handshake of QUIC is not the first to end.
            Assert.True(log.Split(" HTTP/3.0\"").Length > 100, log);
        }
        finally
        {
            await EndAsync(browser);
        }
    }

    [Fact]
    public async Task Files_of_all_sizes_arrive_whole_at_once() => await DownloadAsync([1, 1_200, 70_000, 3_000_000, 20_000_000]);

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_file_of_100_megabytes_arrives_whole() => await DownloadAsync([100_000_000]);

    [Theory]
    [InlineData(0.01)]
    [InlineData(0.05)]
    [InlineData(0.1)]
    [Trait("Rfc", "9002-6")]
    public async Task Lost_packets_in_both_directions_are_sent_again(double loss)
    {
        Require();
        await using var relay = new DatagramRelay(new DatagramRelayOptions { Loss = loss });
        await using Http3Site site = await StartBehindAsync(relay, [1, 1_000_000]);
        await AssertArriveAsync(site, relay.Port, [1, 1_000_000]);
        Assert.InRange(await site.ReadMetricAsync("millrace_quic_packets_lost_total"), 1, double.MaxValue);
    }

    [Fact]
    [Trait("Rfc", "9000-8.1.2")]
    public async Task A_client_that_is_sent_a_retry_comes_back_with_its_token()
    {
        Require();
        await using var relay = new DatagramRelay(new DatagramRelayOptions { IsHeld = true });
        await using Http3Site site = await StartBehindAsync(relay, [100_000], "--reactors", "1");
        await UnfinishedHandshakes.RetryAsync(site, relay, () => AssertArriveAsync(site, relay.Port, [100_000]));
    }

    /// <summary>The server closes the first connection when it was idle for a second.</summary>
    [Fact]
    [Trait("Rfc", "9001-4.5")]
    public async Task A_client_resumes_its_session()
    {
        Require();
        using var events = new TempFolder();
        const string script = "async () => { await new Promise(done => setTimeout(done, 4000)); return (" + PageScripts.HashOf + ")('1000.bin'); }";
        await using Http3Site site = await StartSiteAsync([1_000], script, "--keep-alive-timeout", "1", "--qlog", events.Root);
        await AssertArriveAsync(site, site.Port, [1_000]);
        await QlogFiles.AwaitResumedAsync(events);
    }

    [Theory]
    [InlineData("127.0.0.1")]
    [InlineData("127.0.0.2")]
    [Trait("Rfc", "9000-9.3")]
    public async Task A_client_whose_address_is_changed_by_a_nat_is_followed(string address)
    {
        Require();
        await using var relay = new DatagramRelay(DatagramRelayOptions.Moving(address));
        await using Http3Site site = await StartBehindAsync(relay, [20_000_000], "--reactors", "2");
        await AssertArriveAsync(site, relay.Port, [20_000_000]);
        Assert.Equal(1, relay.Moves);
        Assert.Equal(1, await site.ReadMetricAsync("millrace_quic_migrations_total"));
    }

    /// <summary>The browser is killed, and says nothing: the server finds that by itself.</summary>
    [Fact]
    [Trait("Rfc", "9000-10.1")]
    public async Task A_client_that_leaves_early_leaves_nothing_behind()
    {
        Require();
        const string script = "() => (" + PageScripts.AbortOneAndBeginAnother + ")('50000000.bin')";
        await using Http3Site site = await StartSiteAsync([50_000_000], script, "--keep-alive-timeout", "10");
        Assert.Matches("^[1-9][0-9]*$", await ReportAsync(site, site.Port));
        await site.AwaitNoConnectionsAsync();
        Assert.Equal(0, await site.ReadMetricAsync("millrace_quic_connections_failed_total"));
    }

    private static async Task DownloadAsync(int[] sizes)
    {
        Require();
        await using Http3Site site = await StartSiteAsync(sizes, HashesOf(sizes));
        await AssertArriveAsync(site, site.Port, sizes);
    }

    private static string HashesOf(int[] sizes) =>
        $"() => ({PageScripts.HashesOf})([{string.Join(',', sizes.Select(static size => $"'{size}.bin'"))}])";

    /// <summary>A site with a page that runs a script once the browser speaks HTTP/3, and reports its result.</summary>
    private static Task<Http3Site> StartSiteAsync(int[] sizes, string script, params string[] flags) => Http3Site.StartWithMetricsAsync(
        folder =>
        {
            // The page itself may come by HTTP/2, where the handshake of QUIC is not the first to end.
            folder.WriteText(
                "index.html",
                $$"""
                <!doctype html><title>t</title><link rel=icon href=data:,>
                <script>
                  async function untilHttp3() {
                    for (let i = 0; i < 200; i++) {
                      await (await fetch('/early?' + i)).text();
                      if (performance.getEntriesByType('resource').some(one => one.nextHopProtocol === 'h3')) {
                        return;
                      }
                      await new Promise(done => setTimeout(done, 100));
                    }
                    throw 'no-http3';
                  }
                  onload = async () => {
                    try {
                      await untilHttp3();
                      await fetch('/seen-' + await ({{script}})());
                    } catch (error) {
                      await fetch('/seen-' + encodeURIComponent(error));
                    }
                  };
                </script>
                """);
            folder.WriteText("early", "");
            Array.ForEach(sizes, size => folder.Add($"{size}.bin", size));
        },
        flags);

    /// <summary>A site behind a relay, where its Alt-Svc says that it is: the browser believes that more than its preference.</summary>
    private static async Task<Http3Site> StartBehindAsync(DatagramRelay relay, int[] sizes, params string[] flags)
    {
        Http3Site site = await StartSiteAsync(
            sizes, HashesOf(sizes), ["--http3-port", relay.Port.ToString(CultureInfo.InvariantCulture), .. flags]);
        relay.SetServer(site.Port);
        return site;
    }

    private static async Task AssertArriveAsync(Http3Site site, int port, int[] sizes)
    {
        string hashes = await ReportAsync(site, port);
        Assert.Equal(
            sizes.Select(size =>
            {
                using FileStream file = File.OpenRead(site.Folder.PathOf($"{size}.bin"));
                return Convert.ToHexStringLower(SHA256.HashData(file));
            }),
            hashes.Split(','));
        string log = await File.ReadAllTextAsync(site.AccessLog);
        Assert.All(sizes, size => Assert.Contains($"GET /{size}.bin HTTP/3.0", log, StringComparison.Ordinal));
    }

    /// <summary>Opens the page, and waits for its report. Datagrams go to this port.</summary>
    private static async Task<string> ReportAsync(Http3Site site, int port)
    {
        using Process browser = await StartAsync(site, $"\"network.http.http3.alt-svc-mapping-for-testing\", \"localhost;h3=:{port}\"");
        try
        {
            string log = await site.AwaitLogAsync("GET /seen-");
            return log[(log.IndexOf("GET /seen-", StringComparison.Ordinal) + 10)..].Split(' ')[0];
        }
        finally
        {
            await EndAsync(browser);
        }
    }

    private static void Require()
    {
        Tool.Require(Firefox);
        Tool.Require("certutil");
    }

    /// <summary>A browser with a profile that trusts the site's authority, and with its page open.</summary>
    private static async Task<Process> StartAsync(Http3Site site, params string[] preferences)
    {
        string profile = Directory.CreateDirectory(site.PathOf("profile")).FullName;
        await Tool.RunToSuccessAsync(Http3Site.Patience, "certutil", "-N", "-d", $"sql:{profile}", "--empty-password");
        await Tool.RunToSuccessAsync(
            Http3Site.Patience, "certutil", "-A", "-n", "authority", "-t", "C,,", "-i", site.Authority, "-d", $"sql:{profile}");
        await File.WriteAllLinesAsync(
            Path.Combine(profile, "user.js"), Quiet.Concat(preferences).Select(static preference => $"user_pref({preference});"));
        var start = new ProcessStartInfo(Firefox, ["--headless", "--no-remote", "--profile", profile, site.Url.ToString()])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        start.Environment["HOME"] = profile;
        Process browser = Process.Start(start)!;
        _ = browser.StandardOutput.ReadToEndAsync();
        _ = browser.StandardError.ReadToEndAsync();
        return browser;
    }

    private static async Task EndAsync(Process browser)
    {
        browser.Kill(entireProcessTree: true);
        await browser.WaitForExitAsync().WaitAsync(Http3Site.Patience);
    }
}
