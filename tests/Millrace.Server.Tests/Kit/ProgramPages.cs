using System.Globalization;
using Microsoft.Playwright;

namespace Millrace.Server.Tests.Kit;

/// <summary>
/// The pages that the program makes, by name, of a server that has something to show on each: files of many kinds, requests that found
/// nothing, a certificate that is due.
/// </summary>
internal sealed class ProgramPages : IAsyncDisposable
{
    public const string Listing = "listing";
    public const string Error = "error";
    public const string Dashboard = "dashboard";

    /// <summary>Paths that broken links and scanners ask for, and how often.</summary>
    private static readonly (string Path, int Times)[] Missing =
    [
        ("/favicon.ico", 9), ("/wp-login.php", 7), ("/blog/2019/a-link-that-somebody-wrote-down-long-ago-and-that-leads-nowhere-since.html", 4),
        ("/apple-touch-icon.png", 3), ("/old/", 1),
    ];

    private static readonly (string Name, int Bytes)[] Files =
    [
        ("chapter-1.md", 4_120), ("chapter-2.md", 12_900), ("chapter-10.md", 8_400), ("map.svg", 31_000), ("mill at dawn.jpg", 284_000),
        ("mill-plans-1782.pdf", 1_940_000), ("music.mp3", 512_000), ("notes.txt", 730), ("release-2026.11.tar.gz", 3_300_000),
        ("sources.zip", 940_000), ("style.css", 2_210), ("turns.csv", 18_700), ("wheel.js", 5_600), ("wheel.mp4", 2_700_000),
        ("a name that is as long as only people make them who describe what is in a file, and do it whole.txt", 120),
    ];

    private static readonly Uri ShownAdmin = new("http://mill.example:9180/");

    private readonly TempFolder _site = new();
    private readonly TempFolder _keys = new();

    private ProgramPages()
    {
    }

    private ServerProcess Server { get; set; } = null!;

    private Uri Site => new(Server.Addresses.Single(static address => address.StartsWith("http://", StringComparison.Ordinal)));

    /// <summary>The folder with the packages of Node.js that judge and shrink pages.</summary>
    public static Task<string> ToolsAsync() =>
        NodeProject.MakeAsync(Path.Combine(Places.Repository, "tests", "Millrace.Server.Tests", "Pages", "Node"), "pages");

    public static async Task<ProgramPages> StartAsync()
    {
        var pages = new ProgramPages();
        pages.WriteSite();
        pages.Server = await ServerProcess.StartAsync(
        [
            pages._site.Root, "--listing", "--listen", "127.0.0.1:0", "--https", "127.0.0.1:0",
            .. OwnCertificate.Make(pages._keys, "own", days: 9.5, "mill.example", "www.mill.example"), "--reactors", "1", "--admin", "0",
        ]);
        return pages;
    }

    /// <summary>Asks for what is not there.</summary>
    public async Task AskForMissingAsync()
    {
        using var client = new HttpClient { BaseAddress = Site };
        foreach ((string path, int times) in Missing)
        {
            for (int i = 0; i < times; i++)
            {
                using HttpResponseMessage response = await client.GetAsync(new Uri(path, UriKind.Relative));
                Assert.Equal(404, (int)response.StatusCode);
            }
        }
    }

    /// <summary>Opens one, and waits for what its scripts add.</summary>
    /// <param name="browser">The browser.</param>
    /// <param name="profile">A profile of it.</param>
    /// <param name="name">The page.</param>
    /// <param name="stats">What the live page shows instead of the server's state, under a name that is the same each time.</param>
    public async Task<IPage> OpenAsync(BrowserSession browser, IBrowserContext profile, string name, string? stats = null)
    {
        if (stats is not null)
        {
            await profile.RouteAsync($"{ShownAdmin}**", async route => await route.FulfillAsync(
                new Uri(route.Request.Url).AbsolutePath == "/stats.json"
                    ? new() { ContentType = "application/json", Body = stats }
                    : new() { Response = await route.FetchAsync(new() { Url = Server.Admin.ToString() }) }));
        }

        IPage page = await browser.OpenAsync(profile, name switch
        {
            Listing => new Uri(Site, "archive/the%20mill/"),
            Error => new Uri(Site, "archive/the%20mill/a-page-that-is-gone"),
            _ => stats is null ? Server.Admin : ShownAdmin,
        });
        if (name == Dashboard)
        {
            await page.Locator("#chart-memory path").First.WaitForAsync(new() { State = WaitForSelectorState.Attached });
        }

        return page;
    }

    public async ValueTask DisposeAsync()
    {
        await Server.DisposeAsync();
        _site.Dispose();
        _keys.Dispose();
    }

    /// <summary>Of an hour that is the same each time, for pictures.</summary>
    private void WriteSite()
    {
        string folder = Path.Combine("archive", "the mill");
        string full = Directory.CreateDirectory(_site.PathOf(folder)).FullName;
        var time = DateTime.Parse("2026-05-04T09:12:00Z", CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal);
        foreach (string name in (string[])["2024", "2025", "drawings", "photographs"])
        {
            Directory.CreateDirectory(Path.Combine(full, name));
        }

        foreach ((string name, int bytes) in Files)
        {
            _site.Add(Path.Combine(folder, name), bytes);
        }

        foreach (string entry in Directory.GetFileSystemEntries(full).Order(StringComparer.Ordinal))
        {
            time = time.AddHours(-31);
            Directory.SetLastWriteTimeUtc(entry, time);
        }
    }
}
