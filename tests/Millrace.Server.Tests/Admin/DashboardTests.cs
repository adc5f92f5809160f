using System.Collections.Concurrent;
using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Admin;

/// <summary>The live page in a Chromium of the machine.</summary>
public class DashboardTests
{
    [Fact]
    public async Task Its_numbers_move_with_what_is_served()
    {
        BrowserSession.Require();
        await using ServerProcess server = await StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        IPage page = await OpenAsync(browser, server, new BrowserNewContextOptions());
        Assert.Equal("ready", await page.Locator("#state").TextContentAsync());
        Assert.Equal("0 /s", await TileAsync(page, "requests"));
        Assert.Equal(0, await page.Locator("#chart-status path").CountAsync());
        Assert.Equal("No requests in the last five minutes", await page.Locator("#chart-status text.empty").TextContentAsync());

        await using (new Load(server.Url))
        {
            await page.WaitForFunctionAsync(
                "() => ['requests', 'p50', 'p99', 'bytes', 'cached']"
                + ".every(id => parseFloat(document.getElementById('tile-' + id).textContent) > 0)");
            foreach (string chart in (string[])["status", "time", "bytes", "connections", "lag"])
            {
                await AwaitAsync(page, $"#chart-{chart} path");
            }

            foreach (string share in (string[])["cache", "strategy", "coding"])
            {
                await AwaitAsync(page, $"#share-{share} .bar i");
            }
        }

        Assert.Matches(@"^\d", await TileAsync(page, "connections"));
        string facts = (await page.Locator("#facts").TextContentAsync())!;
        Assert.Contains("1 reactor ·", facts, StringComparison.Ordinal);
        Assert.Contains("version ", facts, StringComparison.Ordinal);
        Assert.Empty(browser.Troubles);
    }

    [Fact]
    public async Task It_asks_nobody_else_for_anything()
    {
        BrowserSession.Require();
        await using ServerProcess server = await StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        IBrowserContext profile = await browser.NewProfileAsync();
        var asked = new ConcurrentQueue<string>();
        profile.Request += (_, request) => asked.Enqueue(request.Url);
        IPage page = await OpenAsync(browser, server, profile);
        await page.WaitForResponseAsync(static response => response.Url.Contains("stats.json", StringComparison.Ordinal));

        Assert.All(asked, url => Assert.True(
            url.StartsWith(server.Admin.ToString(), StringComparison.Ordinal) || url.StartsWith("data:", StringComparison.Ordinal), url));
        Assert.Contains(asked, static url => url.Contains("stats.json?after=", StringComparison.Ordinal));
        Assert.Empty(browser.Troubles);
    }

    [Fact]
    public async Task Its_policy_lets_no_other_script_run()
    {
        BrowserSession.Require();
        await using ServerProcess server = await StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        IPage page = await OpenAsync(browser, server, new BrowserNewContextOptions());

        bool hasRun = await page.EvaluateAsync<bool>(
            "() => { const s = document.createElement('script');"
            + " try { s.textContent = 'window.intruder = 1'; } catch { return false; }"
            + " document.body.append(s); return 'intruder' in window; }");

        Assert.False(hasRun);
    }

    [Fact]
    public async Task Both_colour_schemes_fit_a_desk_and_a_phone()
    {
        BrowserSession.Require();
        await using ServerProcess server = await StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await using var load = new Load(server.Url);
        var papers = new HashSet<string>();
        foreach (ColorScheme scheme in (ColorScheme[])[ColorScheme.Light, ColorScheme.Dark])
        {
            foreach ((string size, int width, int height) in ((string, int, int)[])[("desk", 1280, 1000), ("phone", 360, 740)])
            {
                IPage page = await OpenAsync(browser, server, new BrowserNewContextOptions
                {
                    ColorScheme = scheme,
                    ViewportSize = new() { Width = width, Height = height },
                });
                await AwaitAsync(page, "#chart-status path");

                Assert.Equal(width, await page.EvaluateAsync<int>("() => document.documentElement.scrollWidth"));
                papers.Add(await page.EvaluateAsync<string>("() => getComputedStyle(document.body).backgroundColor"));
                await BrowserSession.PhotographAsync(page, $"dashboard-{size}-{scheme}".ToLowerInvariant());
                await page.Context.CloseAsync();
            }
        }

        Assert.Equal(2, papers.Count);
        browser.AssertNothingWorseThanDropped();
    }

    [Fact]
    public async Task A_server_that_is_gone_is_said_to_be()
    {
        BrowserSession.Require();
        await using ServerProcess server = await StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        IPage page = await OpenAsync(browser, server, new BrowserNewContextOptions());

        server.Signal(System.Runtime.InteropServices.PosixSignal.SIGTERM);

        await page.GetByText("no response", new() { Exact = true }).WaitForAsync();
        Assert.Contains("has not responded", await page.Locator("#notice").TextContentAsync(), StringComparison.Ordinal);
    }

    private static Task<ServerProcess> StartAsync() =>
        ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0", "--reactors", "1", "--admin", "0");

    private static async Task<IPage> OpenAsync(BrowserSession browser, ServerProcess server, BrowserNewContextOptions options) =>
        await OpenAsync(browser, server, await browser.NewProfileAsync(options));

    private static async Task<IPage> OpenAsync(BrowserSession browser, ServerProcess server, IBrowserContext profile)
    {
        IPage page = await browser.OpenAsync(profile, server.Admin);
        await page.Locator("#tile-requests small").WaitForAsync();
        return page;
    }

    private static Task AwaitAsync(IPage page, string element) =>
        page.Locator(element).First.WaitForAsync(new() { State = WaitForSelectorState.Attached });

    private static async Task<string> TileAsync(IPage page, string name) => await page.EvaluateAsync<string>(
        "id => [...document.getElementById(id).childNodes].map(n => n.textContent).join(' ')", $"tile-{name}");
}
