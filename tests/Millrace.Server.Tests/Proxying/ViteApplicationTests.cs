using System.Security.Cryptography;
using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;
using Millrace.Server.Tests.Proxying.Kit;

namespace Millrace.Server.Tests.Proxying;

/// <summary>The commonest shape of a site: a front end that Vite has built, whose <c>/api</c> is an ASP.NET Core program.</summary>
public class ViteApplicationTests
{
    [Theory]
    [Trait("Duration", "Full")]
    [InlineData(false)]
    [InlineData(true)]
    public async Task A_page_that_vite_has_built_shows_what_its_application_says(bool isSecure)
    {
        BrowserSession.Require();
        string work = await NodeProject.MakeAsync(
            Path.Combine(Places.Repository, "tests", "Millrace.Server.Tests", "Proxying", "ViteApplication"),
            "vite-application",
            static work => Tool.RunToSuccessAsync(NodeProject.Deadline, "npm", "run", "build", "--prefix", work));
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartInAsync(Path.Combine(work, "dist"), ProxiedSite.Upstream(upstream));
        await using BrowserSession browser = await BrowserSession.StartAsync();
        await using IBrowserContext profile = await browser.NewProfileAsync(new() { IgnoreHTTPSErrors = true });

        IPage page = await browser.OpenAsync(profile, isSecure ? site.SecureUrl : site.Url);

        await page.WaitForFunctionAsync(
            "() => document.querySelectorAll('#events li').length === 3 && document.getElementById('socket').textContent !== ''");
        Assert.StartsWith("POST /api/echo?from=vite HTTP/1.1 connection ", await page.Locator("#request").TextContentAsync(), StringComparison.Ordinal);
        Assert.Equal($"5 {Convert.ToHexStringLower(SHA256.HashData("wheat"u8))}", await page.Locator("#sum").TextContentAsync());
        Assert.Equal(["event 0", "event 1", "event 2"], await page.Locator("#events li").AllTextContentsAsync());
        Assert.Equal("rye", await page.Locator("#socket").TextContentAsync());
        Assert.Equal("rgb(11, 122, 117)", await page.EvaluateAsync<string>("() => getComputedStyle(document.body).color"));
        Assert.Equal(
            isSecure ? "h2" : "http/1.1", await page.EvaluateAsync<string>("() => performance.getEntriesByType('navigation')[0].nextHopProtocol"));

        // The page closes its stream of events.
        Assert.DoesNotContain(browser.Troubles, static trouble => !trouble.Contains("ERR_ABORTED", StringComparison.Ordinal));
    }
}
