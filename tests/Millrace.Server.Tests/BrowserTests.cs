using Microsoft.Playwright;
using Millrace.Server.Tests.Http3.Kit;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>The sample site as somebody sees it, in a Chromium of the machine.</summary>
public class BrowserTests
{
    [Fact]
    public async Task The_sample_site_loads_whole_and_works()
    {
        BrowserSession.Require();
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        await using BrowserSession browser = await BrowserSession.StartAsync();

        await WalkAsync(browser, server.Url);
        await PhotographAsync(browser, server.Url);

        Assert.Empty(browser.Troubles);
        Assert.All(browser.Statuses, static loaded => Assert.True(loaded.Value is 200 or 304, $"{loaded.Key}: {loaded.Value}"));
        foreach (string part in (string[])["/", "/about/", "/gallery/", "/styles/site.css", "/scripts/site.js", "/data/river.json"])
        {
            Assert.Contains(new Uri(server.Url, part).ToString(), browser.Statuses.Keys);
        }

        Assert.Contains(browser.Statuses.Keys, static url => url.EndsWith(".woff2", StringComparison.Ordinal));
        Assert.Contains(browser.Statuses.Keys, static url => url.EndsWith(".jpg", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Every_file_of_the_sample_site_can_be_fetched_by_a_page()
    {
        BrowserSession.Require();
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0");
        await using BrowserSession browser = await BrowserSession.StartAsync();
        IPage page = await browser.OpenAsync(await browser.NewProfileAsync(), server.Url);

        foreach (string target in Places.SampleTargets)
        {
            long[] got = await page.EvaluateAsync<long[]>(
                "async target => { const r = await fetch(target); return [r.status, (await r.arrayBuffer()).byteLength]; }", target);

            Assert.Equal([200, new FileInfo(Places.SampleSite + target).Length], got);
        }

        Assert.Empty(browser.Troubles);
    }

    [Fact]
    public async Task A_page_of_a_hundred_parts_is_loaded_whole_over_http2()
    {
        BrowserSession.Require();
        using var folder = new TempFolder();
        using var keys = new TempFolder();
        HundredParts.Write(folder);
        await using ServerProcess server = await ServerProcess.StartAsync(
            [folder.Root, "--https", "127.0.0.1:0", .. OwnCertificate.Make(keys, "own", "localhost")]);
        await using BrowserSession browser = await BrowserSession.StartAsync();

        IPage page = await browser.OpenAsync(await browser.NewProfileAsync(new() { IgnoreHTTPSErrors = true }), server.Url);

        int[] loaded = await page.EvaluateAsync<int[]>(HundredParts.Count);
        Assert.Equal([40, 30, 30], loaded);
        // The browser notes the last of them some time after it has loaded them.
        await page.WaitForFunctionAsync($"() => {HundredParts.Protocols}.length >= 101");
        Assert.Equal(Enumerable.Repeat("h2", 101), await page.EvaluateAsync<string[]>($"() => {HundredParts.Protocols}"));
        Assert.Empty(browser.Troubles);
    }

    /// <summary>From page to page by their links, using what the script made of the first.</summary>
    private static async Task WalkAsync(BrowserSession browser, Uri url)
    {
        IPage page = await browser.OpenAsync(await browser.NewProfileAsync(), url);
        await AwaitYearAsync(page);
        Assert.Equal(12, await page.Locator("#year svg rect").CountAsync());

        await page.Locator("#gate").FillAsync("90");
        Assert.Equal("9.0 turns a minute", await page.Locator("#turns").TextContentAsync());

        await page.GetByRole(AriaRole.Link, new() { Name = "About" }).First.ClickAsync();
        await page.WaitForURLAsync(new Uri(url, "about/").ToString());
        await BrowserSession.LoadPicturesAsync(page);
        await page.GetByRole(AriaRole.Link, new() { Name = "Gallery" }).First.ClickAsync();
        await page.WaitForURLAsync(new Uri(url, "gallery/").ToString());
        Assert.NotEqual(0, await BrowserSession.LoadPicturesAsync(page));
        await page.GetByRole(AriaRole.Link, new() { Name = "The mill" }).First.ClickAsync();
        await page.WaitForURLAsync(url.ToString());
        await AwaitYearAsync(page);
        await page.Context.CloseAsync();
    }

    /// <summary>The last that a script adds to the first page.</summary>
    private static Task AwaitYearAsync(IPage page) =>
        page.Locator("#year svg rect").First.WaitForAsync(new() { State = WaitForSelectorState.Attached });

    private static async Task PhotographAsync(BrowserSession browser, Uri url)
    {
        foreach ((string size, int width, int height) in ((string, int, int)[])[("desktop", 1280, 900), ("phone", 390, 844)])
        {
            foreach ((string name, ColorScheme scheme) in ((string, ColorScheme)[])[("light", ColorScheme.Light), ("dark", ColorScheme.Dark)])
            {
                IBrowserContext profile = await browser.NewProfileAsync(new()
                {
                    ColorScheme = scheme,
                    ViewportSize = new() { Width = width, Height = height },
                    ReducedMotion = ReducedMotion.Reduce,
                });
                IPage page = await browser.OpenAsync(profile, url);
                await AwaitYearAsync(page);
                await BrowserSession.PhotographAsync(page, $"site-{size}-{name}");
                await page.Context.CloseAsync();
            }
        }
    }
}
