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
    public async Task A_large_download_arrives_whole()
    {
        BrowserSession.Require();
        byte[] content = [];
        await using Http3Site site = await Http3Site.StartAsync(folder =>
        {
            folder.WriteText("index.html", "<!doctype html><title>t</title><link rel=icon href=data:,>");
            content = folder.Add("large.bin", 20_000_000);
        });
        await using BrowserSession browser = await BrowserSession.StartWithQuicAsync(site.KeyHash, site.Port);
        IPage page = await browser.OpenAsync(await browser.NewProfileAsync(), site.Url);

        string hash = await page.EvaluateAsync<string>(
            """
            async () => {
              const bytes = await (await fetch('large.bin')).arrayBuffer();
              const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
              return [...hash].map(one => one.toString(16).padStart(2, '0')).join('');
            }
            """);

        Assert.Equal(Convert.ToHexStringLower(System.Security.Cryptography.SHA256.HashData(content)), hash);
        await site.AwaitLogAsync("GET /large.bin HTTP/3.0");
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
