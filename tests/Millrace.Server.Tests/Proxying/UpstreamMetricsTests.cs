using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text.Json;
using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;
using Millrace.Server.Tests.Proxying.Kit;

namespace Millrace.Server.Tests.Proxying;

/// <summary>What /metrics, /stats.json and the live page say of applications.</summary>
public class UpstreamMetricsTests
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Requests_connections_and_failures_are_counted_for_each_target()
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        string target = ProxiedSite.Upstream(upstream);
        using var closed = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        closed.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        string down = string.Create(CultureInfo.InvariantCulture, $"http://127.0.0.1:{((IPEndPoint)closed.LocalEndPoint!).Port}");
        await using ProxiedSite site = await ProxiedSite.StartAsync(
            $"{down} {target}", "--proxy", $"/alone/* {target}", "--proxy", $"/down/* {down}", "--admin", "0");
        MetricsText before = await ReadAsync(site);
        Assert.Equal((1, 1), (before.Sum("millrace_upstream_healthy", ("upstream", target)), before.Sum("millrace_upstream_healthy", ("upstream", down))));
        Assert.Equal(0, before.Sum("millrace_upstream_requests_total"));

        foreach (string version in (string[])["1.1", "2.0"])
        {
            for (int i = 0; i < 3; i++)
            {
                await site.GetAsync(version, "/api/echo");
            }
        }

        Assert.Equal(404, await site.StatusAsync("1.1", "/alone/x"));
        // Not over HTTP/1.1, where the client may ask twice.
        await Assert.ThrowsAnyAsync<Exception>(() => site.GetAsync("2.0", "/api/cut"));
        Assert.Equal(502, await site.StatusAsync("2.0", "/down/x"));

        MetricsText after = await ReadAsync(site);

        // The reset of the one that is cut may overtake its bytes: then it is sent again.
        int requests = 8 + (int)Of("retries_total", target);
        Assert.InRange(requests, 8, 9);
        Assert.Equal(requests, Of("requests_total", target));
        Assert.Equal(1, Of("failures_total", target));
        Assert.True(Of("reused_total", target) >= 5);
        Assert.Equal(Of("requests_total", target), Of("reused_total", target) + Of("connects_total", target));
        Assert.Equal(0, Of("connects_failed_total", target));
        Assert.Equal((0, 1), (Of("healthy", down), Of("healthy", target)));
        Assert.Equal((0, 1), (Of("requests_total", down), Of("failures_total", down)));
        Assert.Equal(Of("connects_total", down), Of("connects_failed_total", down));
        Assert.True(Of("connects_failed_total", down) >= 2);
        Assert.Equal(0, after.Sum("millrace_upstream_connections", ("upstream", target), ("state", "active")));
        Assert.InRange(after.Sum("millrace_upstream_connections", ("upstream", target), ("state", "idle")), 1, 2);
        Assert.Equal(0, after.Sum("millrace_upstream_waiting"));
        Assert.Equal(0, after.Sum("millrace_upstream_queue_refused_total"));
        Assert.Equal("counter", after.Types["millrace_upstream_timeouts_total"]);
        Assert.Equal("gauge", after.Types["millrace_upstream_healthy"]);

        using var client = new HttpClient { BaseAddress = site.Server.Admin };
        using JsonDocument stats = JsonDocument.Parse(
            await client.GetStringAsync(new Uri("stats.json", UriKind.Relative), TestContext.Current.CancellationToken));
        Dictionary<string, JsonElement> upstreams = stats.RootElement.GetProperty("upstreams").EnumerateArray()
            .ToDictionary(static one => one.GetProperty("upstream").GetString()!);
        Assert.Equal(3, upstreams.Count);
        Assert.Equal((true, requests, 1), Row(target));
        Assert.Equal((false, 0, 1), Row(down));
        Assert.Equal(JsonValueKind.Null, upstreams[$"{down}, {target}"].GetProperty("healthy").ValueKind);

        double Of(string name, string which) => after.Sum($"millrace_upstream_{name}", ("upstream", which));

        (bool, int, int) Row(string which) => (
            upstreams[which].GetProperty("healthy").GetBoolean(), upstreams[which].GetProperty("requests").GetInt32(),
            upstreams[which].GetProperty("failures").GetInt32());
    }

    [Fact]
    public async Task Deadlines_and_open_requests_are_counted()
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(upstream), "--proxy-timeout", "2", "--admin", "0");
        Task<int> hanging = site.StatusAsync("1.1", "/api/hang");
        await AwaitAsync(site, static metrics => metrics.Sum("millrace_upstream_connections", ("state", "active")) == 1);
        Assert.Equal(504, await hanging);
        MetricsText metrics = await ReadAsync(site);
        Assert.Equal((1, 1), (metrics.Sum("millrace_upstream_timeouts_total"), metrics.Sum("millrace_upstream_failures_total")));
        Assert.Equal(0, metrics.Sum("millrace_upstream_connections"));
    }

    [Fact]
    public async Task The_live_page_has_a_row_for_each_application()
    {
        BrowserSession.Require();
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        string target = ProxiedSite.Upstream(upstream);
        await using ProxiedSite site = await ProxiedSite.StartAsync(target, "--admin", "0");
        await site.GetAsync("1.1", "/api/echo");
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await using IBrowserContext profile = await browser.NewProfileAsync();
        IPage page = await browser.OpenAsync(profile, site.Server.Admin);
        await page.Locator("#upstreams td").First.WaitForAsync();
        Assert.Equal([target, "healthy", "1", "1", "0"], await page.Locator("#upstreams td").AllTextContentsAsync());
        await page.Locator("#share-source").GetByText("applications").WaitForAsync();
        Assert.Empty(browser.Troubles);
    }

    private static async Task<MetricsText> ReadAsync(ProxiedSite site)
    {
        using var client = new HttpClient { BaseAddress = site.Server.Admin };
        return MetricsText.Parse(await client.GetStringAsync(new Uri("metrics", UriKind.Relative), TestContext.Current.CancellationToken));
    }

    private static async Task AwaitAsync(ProxiedSite site, Func<MetricsText, bool> isThere)
    {
        for (long startedAt = Stopwatch.GetTimestamp(); !isThere(await ReadAsync(site));)
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Deadline, "The metrics do not change.");
            // Sleeps: nobody tells when the request has reached the application.
            await Task.Delay(20, TestContext.Current.CancellationToken);
        }
    }
}
