using System.Globalization;
using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>The pages that the server makes, listings and errors, as a visitor's Chromium shows them.</summary>
public sealed class PageTests : IDisposable
{
    private const int Files = 2_400;
    private const int NarrowPixels = 390;

    private readonly TempFolder _folder = new();

    public PageTests()
    {
        Directory.CreateDirectory(Path.Combine(_folder.Root, "many"));
        Directory.CreateDirectory(Path.Combine(_folder.Root, "kinds", "sub"));
        for (int i = 1; i <= Files; i++)
        {
            _folder.WriteText($"many/file{i}.txt", "");
        }

        foreach (string name in (string[])["a.jpg", "b.mp3", "c.mp4", "d.zip", "e.html", "f", "sub/x.txt", $"{new string('w', 180)}.bin"])
        {
            _folder.WriteText($"kinds/{name}", name);
        }

        foreach (string file in Directory.GetFiles(Path.Combine(_folder.Root, "kinds")))
        {
            File.SetLastWriteTimeUtc(file, new DateTime(2024, 3, 1, 2, 30, 0, DateTimeKind.Utc));
        }
    }

    public static TheoryData<string> Pages => ["/many/?page=2", "/kinds/", "/kinds/sub/", "/nothing"];

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_listing_is_filtered_sorted_and_turned_over_with_the_keyboard()
    {
        await using var visit = await VisitAsync("/many/");
        IPage page = visit.Page;
        Assert.Equal(["file1.txt", "file2.txt", "file3.txt"], (await NamesAsync(page)).Take(3));
        Assert.Equal(1_000, (await NamesAsync(page)).Length);

        // From the top of the page: the crumb, then the filter.
        await page.Keyboard.PressAsync("Tab");
        await AssertFocusIsVisibleAsync(page);
        Assert.Equal("Home", await FocusedAsync(page));
        await page.Keyboard.PressAsync("Tab");
        await AssertFocusIsVisibleAsync(page);
        await page.Keyboard.TypeAsync("E99");
        string[] matching = ["file99.txt", .. Enumerable.Range(990, 10).Select(static i => $"file{i}.txt")];
        Assert.Equal(matching, await NamesAsync(page));
        Assert.Equal("11 of 1000", await page.Locator("#count").TextContentAsync());
        Assert.True(await page.Locator("tr.u").IsVisibleAsync());
        await page.Keyboard.PressAsync("Tab");
        Assert.Equal("Name", await FocusedAsync(page));
        await AssertFocusIsVisibleAsync(page);
        await page.Keyboard.PressAsync("Enter");
        await page.WaitForURLAsync("**/?sort=name&order=desc");
        Assert.Equal("file2400.txt", (await NamesAsync(page))[0]);

        await page.GetByRole(AriaRole.Navigation, new() { Name = "Pages" }).GetByRole(AriaRole.Link, new() { Name = "Last" }).ClickAsync();
        await page.WaitForURLAsync("**/?sort=name&order=desc&page=3");
        string[] last = await NamesAsync(page);
        Assert.Equal((400, "file1.txt"), (last.Length, last[^1]));
        Assert.Contains("This page shows entries 2,001 to 2,400.", await page.InnerTextAsync("header"), StringComparison.Ordinal);
        await page.GetByRole(AriaRole.Link, new() { Name = "Home" }).ClickAsync();
        await page.WaitForURLAsync(visit.Server.Url.ToString());
        Assert.Empty(visit.Browser.Troubles);
    }

    [Theory]
    [InlineData("America/New_York", "en-US", "02/29/2024 09:30 PM")]
    [InlineData("Asia/Kolkata", "de-DE", "01.03.2024 08:00")]
    public async Task Times_are_the_visitor_s(string zone, string language, string expected)
    {
        await using var visit = await VisitAsync("/kinds/", new() { TimezoneId = zone, Locale = language });

        string shown = await visit.Page.Locator("tr:has-text('a.jpg') time").InnerTextAsync();

        // The blank before PM is a narrow one.
        Assert.Equal(expected, shown.Replace('\u202f', ' '));
        Assert.Equal("Modified", await visit.Page.Locator("#modified").TextContentAsync());
    }

    [Fact]
    public async Task Without_scripts_a_listing_says_utc_and_has_no_filter_and_all_its_links()
    {
        await using var visit = await VisitAsync("/many/", new() { JavaScriptEnabled = false });

        Assert.False(await visit.Page.Locator("#filter").IsVisibleAsync());
        Assert.Equal("Modified (UTC)", await visit.Page.Locator("#modified").TextContentAsync());
        Assert.Matches("^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}$", await visit.Page.Locator("time").First.InnerTextAsync());
        await visit.Page.GetByRole(AriaRole.Link, new() { Name = "Next" }).ClickAsync();
        await visit.Page.WaitForURLAsync("**/?sort=name&order=asc&page=2");
        Assert.Equal("file1001.txt", (await NamesAsync(visit.Page))[0]);
    }

    [Fact]
    public async Task Each_kind_of_file_has_an_icon_of_its_own()
    {
        await using var visit = await VisitAsync("/kinds/");

        string[] shapes = await visit.Page.EvaluateAsync<string[]>(
            "() => [...document.querySelectorAll('tbody a')].map(link => getComputedStyle(link, '::before').clipPath)");

        // The parent, a directory, six files, and one more of the general kind.
        Assert.Equal(9, shapes.Length);
        Assert.All(shapes, static shape => Assert.StartsWith("path(", shape, StringComparison.Ordinal));
        Assert.Equal(8, shapes.Distinct().Count());
    }

    [Theory]
    [MemberData(nameof(Pages))]
    public async Task A_page_fits_a_phone_and_can_be_read_in_light_and_in_dark(string target)
    {
        foreach (ColorScheme scheme in (ColorScheme[])[ColorScheme.Light, ColorScheme.Dark])
        {
            await using var visit = await VisitAsync(
                target, new() { ColorScheme = scheme, ViewportSize = new() { Width = NarrowPixels, Height = 844 } });

            Assert.Equal(NarrowPixels, await visit.Page.EvaluateAsync<int>("() => document.documentElement.scrollWidth"));
            Assert.Equal("en", await visit.Page.EvaluateAsync<string>("() => document.documentElement.lang"));
            Assert.Equal(1, await visit.Page.Locator("h1").CountAsync());
            Assert.Equal(1, await visit.Page.Locator("main").CountAsync());
            (double least, bool isDark) = (await visit.Page.EvaluateAsync<double>(LeastContrast), await IsDarkAsync(visit.Page));
            Assert.True(least >= 4.5, string.Create(CultureInfo.InvariantCulture, $"{target}, {scheme}: a contrast of {least}"));
            Assert.Equal(scheme == ColorScheme.Dark, isDark);
            await BrowserSession.PhotographAsync(
                visit.Page, $"page-{target.Trim('/').Replace('/', '-').Replace("?page=", "", StringComparison.Ordinal)}-{scheme}".ToLowerInvariant());
        }
    }

    /// <summary>The lowest contrast of a text with the background behind it (WCAG 2.2, success criterion 1.4.3).</summary>
    private const string LeastContrast = """
        () => {
          const channels = color => color.match(/[\d.]+/g).map(Number);
          const light = color => channels(color).slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const behind = node => {
            for (; node; node = node.parentElement) {
              const color = getComputedStyle(node).backgroundColor;
              if (channels(color)[3] !== 0) return color;
            }
            return "rgb(255, 255, 255)";
          };
          const texts = [...document.querySelectorAll("body *")].filter(node => node.tagName !== "SCRIPT"
            && [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim()));
          return Math.min(...texts.map(node => {
            const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
            return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          }));
        }
        """;

    private static Task<bool> IsDarkAsync(IPage page) => page.EvaluateAsync<bool>(
        "() => Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]) < 64");

    private static Task<string[]> NamesAsync(IPage page) => page.EvaluateAsync<string[]>(
        "() => [...document.querySelectorAll('tbody tr:not(.u)')].filter(row => row.checkVisibility()).map(row => row.cells[0].textContent)");

    private static Task<string> FocusedAsync(IPage page) => page.EvaluateAsync<string>("() => document.activeElement.textContent");

    private static async Task AssertFocusIsVisibleAsync(IPage page) => Assert.Equal(
        "solid 2px", await page.EvaluateAsync<string>(
            "() => (style => `${style.outlineStyle} ${style.outlineWidth}`)(getComputedStyle(document.activeElement))"));

    private async Task<Visit> VisitAsync(string target, BrowserNewContextOptions? options = null)
    {
        BrowserSession.Require();
        ServerProcess server = await ServerProcess.StartAsync(_folder.Root, "--listen", "127.0.0.1:0", "--listing");
        BrowserSession browser = await BrowserSession.StartAsync();
        IPage page = await browser.OpenAsync(await browser.NewProfileAsync(options), new Uri(server.Url, target));
        return new Visit(server, browser, page);
    }

    /// <summary>A page of a server in a browser, both for this visit alone.</summary>
    private sealed record Visit(ServerProcess Server, BrowserSession Browser, IPage Page) : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {
            await Browser.DisposeAsync();
            await Server.DisposeAsync();
        }
    }
}
