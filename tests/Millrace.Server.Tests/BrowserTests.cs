using System.Collections.Concurrent;
using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>The sample site as somebody sees it, in a Chromium of the machine.</summary>
public class BrowserTests
{
    private const string Chromium = "/usr/bin/chromium";

    private static readonly string[] Quiet =
    [
        "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ];

    private readonly ConcurrentQueue<string> _troubles = new();
    private readonly ConcurrentDictionary<string, int> _statuses = new();

    [Fact]
    public async Task The_sample_site_loads_whole_and_works()
    {
        Assert.SkipUnless(File.Exists(Chromium), "Chromium is not installed.");
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        // The machine's Chromium is used: nothing is to be fetched.
        Environment.SetEnvironmentVariable("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        using IPlaywright playwright = await Playwright.CreateAsync();
        await using IBrowser browser = await playwright.Chromium.LaunchAsync(new() { ExecutablePath = Chromium, Args = Quiet });

        await WalkAsync(browser, server.Url);
        await PhotographAsync(browser, server.Url);

        Assert.Empty(_troubles);
        Assert.All(_statuses, loaded => Assert.True(loaded.Value == 200, $"{loaded.Key}: {loaded.Value}"));
        foreach (string part in (string[])["/", "/about/", "/gallery/", "/styles/site.css", "/scripts/site.js", "/data/river.json"])
        {
            Assert.Contains(new Uri(server.Url, part).ToString(), _statuses.Keys);
        }

        Assert.Contains(_statuses.Keys, static url => url.EndsWith(".woff2", StringComparison.Ordinal));
        Assert.Contains(_statuses.Keys, static url => url.EndsWith(".jpg", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Every_file_of_the_sample_site_can_be_fetched_by_a_page()
    {
        Assert.SkipUnless(File.Exists(Chromium), "Chromium is not installed.");
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        Environment.SetEnvironmentVariable("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        using IPlaywright playwright = await Playwright.CreateAsync();
        await using IBrowser browser = await playwright.Chromium.LaunchAsync(new() { ExecutablePath = Chromium, Args = Quiet });
        IPage page = await OpenAsync(browser, server.Url, new());

        foreach (string target in Places.SampleTargets)
        {
            long[] got = await page.EvaluateAsync<long[]>(
                "async target => { const r = await fetch(target); return [r.status, (await r.arrayBuffer()).byteLength]; }", target);

            Assert.Equal([200, new FileInfo(Places.SampleSite + target).Length], got);
        }

        Assert.Empty(_troubles);
    }

    /// <summary>From page to page by their links, using what the script made of the first.</summary>
    private async Task WalkAsync(IBrowser browser, Uri url)
    {
        IPage page = await OpenAsync(browser, url, new());
        await page.Locator("#year svg rect").First.WaitForAsync(new() { State = WaitForSelectorState.Attached });
        Assert.Equal(12, await page.Locator("#year svg rect").CountAsync());

        await page.Locator("#gate").FillAsync("90");
        Assert.Equal("9.0 turns a minute", await page.Locator("#turns").TextContentAsync());

        await page.GetByRole(AriaRole.Link, new() { Name = "About" }).First.ClickAsync();
        await page.WaitForURLAsync(new Uri(url, "about/").ToString());
        await page.GetByRole(AriaRole.Link, new() { Name = "Gallery" }).First.ClickAsync();
        await page.WaitForURLAsync(new Uri(url, "gallery/").ToString());
        await page.WaitForLoadStateAsync(LoadState.NetworkIdle);
        Assert.NotEqual(0, await page.Locator("img").CountAsync());
        bool areShown = await page.EvaluateAsync<bool>(
            "() => Promise.all([...document.images].map(i => { i.loading = 'eager'; return i.decode(); })).then(() => true)");
        Assert.True(areShown);
        await page.GetByRole(AriaRole.Link, new() { Name = "The mill" }).First.ClickAsync();
        await page.WaitForURLAsync(url.ToString());
        await page.Context.CloseAsync();
    }

    private async Task PhotographAsync(IBrowser browser, Uri url)
    {
        foreach ((string size, int width, int height) in ((string, int, int)[])[("desktop", 1280, 900), ("phone", 390, 844)])
        {
            foreach ((string name, ColorScheme scheme) in ((string, ColorScheme)[])[("light", ColorScheme.Light), ("dark", ColorScheme.Dark)])
            {
                IPage page = await OpenAsync(browser, url, new()
                {
                    ColorScheme = scheme,
                    ViewportSize = new() { Width = width, Height = height },
                    ReducedMotion = ReducedMotion.Reduce,
                });
                string path = Path.Combine(Places.Artifacts, $"site-{size}-{name}.png");
                await page.ScreenshotAsync(new() { Path = path });
                Assert.True(new FileInfo(path).Length > 10_000, $"{path} shows next to nothing.");
                await page.Context.CloseAsync();
            }
        }
    }

    /// <summary>A page in a profile of its own, so that nothing comes from a cache, watched for whatever goes wrong.</summary>
    private async Task<IPage> OpenAsync(IBrowser browser, Uri url, BrowserNewContextOptions options)
    {
        IBrowserContext context = await browser.NewContextAsync(options);
        IPage page = await context.NewPageAsync();
        page.Response += (_, response) => _statuses[response.Url] = response.Status;
        page.RequestFailed += (_, request) => _troubles.Enqueue($"{request.Url} failed: {request.Failure}");
        page.PageError += (_, error) => _troubles.Enqueue($"A script failed: {error}");
        page.Console += (_, message) =>
        {
            if (message.Type is "error" or "warning")
            {
                _troubles.Enqueue($"The console says: {message.Text}");
            }
        };
        await page.GotoAsync(url.ToString(), new() { WaitUntil = WaitUntilState.NetworkIdle });
        return page;
    }
}
