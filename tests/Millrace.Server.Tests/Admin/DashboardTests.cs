using System.Collections.Concurrent;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json.Nodes;
using Microsoft.Playwright;
using Millrace.Server.Admin;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Admin;

/// <summary>The live page in a Chromium of the machine.</summary>
public class DashboardTests
{
    private const string OneSample =
        """
        {
          "n": 1, "atMs": 1767225600000, "seconds": 1, "byClass": [0, 0, 1, 0, 0, 0], "byProtocol": [0, 1, 0, 0],
          "notModified": 0, "bodyBytes": 5000,
          "byStrategy": [0, 0, 1, 0, 0, 0], "byCoding": [1, 0, 0, 0], "p50": 0.001, "p99": 0.002, "connections": 1, "accepted": 1,
          "turnedAway": 0, "lag": [0.0001], "processors": 0.2, "memoryBytes": 40000000
        }
        """;

    [Fact]
    public void The_hashes_of_its_policy_are_those_of_its_style_and_script()
    {
        string page = Encoding.UTF8.GetString(DashboardPage.Response.Body);
        Assert.Equal(DashboardPage.StyleHash, HashOf("style"));
        Assert.Equal(DashboardPage.ScriptHash, HashOf("script"));

        string HashOf(string element)
        {
            string text = page.Split($"<{element}>")[1].Split($"</{element}>")[0];
            return Convert.ToBase64String(SHA256.HashData(Encoding.UTF8.GetBytes(text)));
        }
    }

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
                "() => ['requests', 'p50', 'p99', 'bytes', 'cached', 'compressed', 'memory']"
                + ".every(id => parseFloat(document.getElementById('tile-' + id).textContent) > 0)");
            foreach (string chart in (string[])["status", "time", "bytes", "connections", "cpu", "memory", "lag"])
            {
                await AwaitAsync(page, $"#chart-{chart} path");
            }

            foreach (string share in (string[])["protocol", "source", "coding"])
            {
                await AwaitAsync(page, $"#share-{share} .bar i");
            }
        }

        Assert.Matches(@"^(< 1|\d+) %", await TileAsync(page, "cpu"));
        Assert.Matches(@"^\d+(\.\d)? MB", await TileAsync(page, "memory"));
        string facts = (await page.Locator("#facts").TextContentAsync())!;
        Assert.Contains("1 reactor ·", facts, StringComparison.Ordinal);
        Assert.Contains("version ", facts, StringComparison.Ordinal);
        Assert.Empty(browser.Troubles);
    }

    [Fact]
    public async Task What_was_not_found_is_listed_by_how_often_and_as_text()
    {
        BrowserSession.Require();
        await using ServerProcess server = await StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        foreach (string target in (string[])["/none?token=secret", "/none", "/none", "/%3Cb%3E", "/%3Cb%3E", "/<img/src=x>"])
        {
            Assert.Equal(404, Wire.Get(server.Url, target).Status);
        }

        IPage page = await OpenAsync(browser, server, new BrowserNewContextOptions());

        await page.Locator("#not-found td").First.WaitForAsync();
        Assert.Equal(
            ["/none", "3", "/%3Cb%3E", "2", "/<img/src=x>", "1"], await page.Locator("#not-found td").AllTextContentsAsync());
        Assert.False(await page.Locator("#certificates").IsVisibleAsync());
        Assert.Empty(browser.Troubles);
    }

    [Fact]
    public async Task A_single_sample_is_seen_in_each_graph()
    {
        BrowserSession.Require();
        await using ServerProcess server = await StartAsync();
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);
        await using BrowserSession browser = await BrowserSession.StartAsync();
        IBrowserContext profile = await browser.NewProfileAsync();
        await profile.RouteAsync("**/stats.json*", async route =>
        {
            JsonNode stats = JsonNode.Parse(await (await route.FetchAsync()).TextAsync())!;
            bool isFirst = route.Request.Url.EndsWith("=0", StringComparison.Ordinal);
            stats["samples"] = isFirst ? new JsonArray(JsonNode.Parse(OneSample)) : new JsonArray();
            await route.FulfillAsync(new() { ContentType = "application/json", Body = stats.ToJsonString() });
        });

        IPage page = await OpenAsync(browser, server, profile);

        foreach (string chart in (string[])["status", "time", "bytes", "connections", "cpu", "memory", "lag"])
        {
            LocatorBoundingBoxResult? point = await page.Locator($"#chart-{chart} circle").First.BoundingBoxAsync();
            Assert.True(point is { Width: >= 4, Height: >= 4 }, $"{chart}: {point?.Width} x {point?.Height}");
        }

        Assert.Empty(browser.Troubles);
    }

    [Fact]
    public async Task Earlier_values_are_reached_by_keyboard()
    {
        BrowserSession.Require();
        await using ServerProcess server = await StartAsync();
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await using var load = new Load(server.Url);
        IPage page = await OpenAsync(browser, server, new BrowserNewContextOptions());
        await page.WaitForFunctionAsync("() => samples.length > 2");
        Assert.Equal(0, await page.Locator(".cross").CountAsync());

        await page.GetByLabel("Values of").FocusAsync();
        await page.Keyboard.PressAsync("ArrowLeft");

        Assert.Matches(@"^\d+ s ago$", await page.Locator(".moment output").TextContentAsync());
        Assert.NotEqual(0, await page.Locator("#chart-bytes .cross").CountAsync());
        await page.Keyboard.PressAsync("End");
        Assert.Equal("now", await page.Locator(".moment output").TextContentAsync());
        Assert.Equal(0, await page.Locator(".cross").CountAsync());
        browser.AssertNothingWorseThanDropped();
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
