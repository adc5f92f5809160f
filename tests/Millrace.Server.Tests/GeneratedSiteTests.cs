using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>A single-page site of Vite and Vue Router, as its users meet it.</summary>
public class GeneratedSiteTests
{
    private const string Title = "main h1";

    [Fact]
    public async Task Deep_links_reloads_and_the_way_back_work()
    {
        await using Setting setting = await Setting.CreateAsync();
        IPage page = await setting.OpenAsync("wheels/breast");

        await ExpectAsync(page, "The breast wheel");
        await page.GetByRole(AriaRole.Button).ClickAsync();
        await page.GetByText("3.0 turns a minute").WaitForAsync();
        await BrowserSession.PhotographAsync(page, "spa-deep-link");
        await page.ReloadAsync();
        await ExpectAsync(page, "The breast wheel");
        await page.GetByText("0.0 turns a minute").WaitForAsync();

        int documents = setting.CountDocuments();
        await page.GetByRole(AriaRole.Link, new() { Name = "Visits" }).ClickAsync();
        await ExpectAsync(page, "Visits in May 2026");
        Assert.Equal(new Uri(setting.Url, "visits/2026/5").ToString(), page.Url);
        await page.GetByRole(AriaRole.Link, new() { Name = "Wheels", Exact = true }).ClickAsync();
        await ExpectAsync(page, "The wheels of Aldermere");
        await BrowserSession.PhotographAsync(page, "spa-home");
        await page.GoBackAsync();
        await page.GoBackAsync();
        await ExpectAsync(page, "The breast wheel");
        Assert.Equal(documents, setting.CountDocuments());

        await page.ReloadAsync();
        await ExpectAsync(page, "The breast wheel");
        Assert.Empty(setting.Browser.Troubles);
    }

    [Fact]
    public async Task A_path_that_the_site_does_not_know_is_its_own_affair()
    {
        await using Setting setting = await Setting.CreateAsync();

        IPage page = await setting.OpenAsync("no/such/place?a=b");

        await ExpectAsync(page, "Nothing is here");
        Assert.Equal(200, setting.Browser.Statuses[page.Url]);
        Assert.Empty(setting.Browser.Troubles);
    }

    [Fact]
    public async Task A_missing_asset_is_missing()
    {
        await using Setting setting = await Setting.CreateAsync();
        IPage page = await setting.OpenAsync("");
        await ExpectAsync(page, "The wheels of Aldermere");

        foreach (string target in (string[])["/assets/index-00000000.js", "/assets/gone.css", "/missing.png"])
        {
            int status = await page.EvaluateAsync<int>("async target => (await fetch(target)).status", target);
            Assert.True(status == 404, $"{target}: {status}");
        }

        Assert.Equal(3, setting.Observer.Exchanges.Count(static exchange => exchange.Status == 404));
    }

    [Fact]
    public async Task A_second_visit_fetches_nothing_and_only_asks_whether_the_page_is_still_right()
    {
        await using Setting setting = await Setting.CreateAsync();
        IPage first = await setting.OpenAsync("");
        await ExpectAsync(first, "The wheels of Aldermere");
        await first.CloseAsync();
        Exchange[] fetched = setting.Observer.Exchanges.ToArray();
        Exchange[] assets = [.. fetched.Where(IsAsset)];
        Assert.True(assets.Length >= 3, $"{assets.Length} assets were fetched.");
        Assert.All(assets, static asset => Assert.Equal(200, asset.Status));
        Assert.All(assets, static asset => Assert.Contains("immutable", asset.Reported("Cache-Control"), StringComparison.Ordinal));
        Assert.Equal("no-cache", fetched.Single(static exchange => exchange.Target == "/").Reported("Cache-Control"));

        IPage second = await setting.OpenAsync("");
        await ExpectAsync(second, "The wheels of Aldermere");

        Exchange[] again = setting.Observer.Exchanges.Skip(fetched.Length).ToArray();
        Assert.DoesNotContain(again, IsAsset);
        Exchange document = again.Single(static exchange => exchange.Target == "/");
        Assert.NotNull(document.Asked("If-None-Match"));
        Assert.Equal(304, document.Status);
        Assert.Equal(fetched.Single(static exchange => exchange.Target == "/").Reported("ETag"), document.Reported("ETag"));
        Assert.All(again, static exchange => Assert.Equal(304, exchange.Status));
        Assert.Empty(setting.Browser.Troubles);
    }

    private static bool IsAsset(Exchange exchange) => exchange.Target.StartsWith("/assets/", StringComparison.Ordinal);

    private static Task ExpectAsync(IPage page, string title) => page.Locator(Title).GetByText(title, new() { Exact = true }).WaitForAsync();

    /// <summary>The built site with an observer in front of it, and a browser with one profile.</summary>
    private sealed class Setting : IAsyncDisposable
    {
        private readonly ServerProcess _server;
        private readonly IBrowserContext _profile;

        private Setting(ServerProcess server, BrowserSession browser, IBrowserContext profile)
        {
            _server = server;
            _profile = profile;
            Browser = browser;
            Observer = new Observer(server.Url);
        }

        public BrowserSession Browser { get; }

        public Observer Observer { get; }

        public Uri Url => Observer.Url;

        public static async Task<Setting> CreateAsync()
        {
            BrowserSession.Require();
            string site = await GeneratedSite.BuildAsync();
            // Vite puts nothing but names with hashes into assets.
            ServerProcess server = await ServerProcess.StartAsync(
                site, "--spa", "--cache-control", "/assets/*=public, max-age=31536000, immutable", "--listen", "127.0.0.1:0");
            BrowserSession browser = await BrowserSession.StartAsync();
            return new Setting(server, browser, await browser.NewProfileAsync());
        }

        public Task<IPage> OpenAsync(string path) => Browser.OpenAsync(_profile, new Uri(Url, path));

        public int CountDocuments() => Observer.Exchanges.Count(static exchange =>
            exchange.Reported("Content-Type")?.StartsWith("text/html", StringComparison.Ordinal) == true);

        public async ValueTask DisposeAsync()
        {
            await Browser.DisposeAsync();
            await Observer.DisposeAsync();
            await _server.DisposeAsync();
        }
    }
}
