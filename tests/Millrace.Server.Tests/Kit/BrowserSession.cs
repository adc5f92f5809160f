using System.Collections.Concurrent;
using Microsoft.Playwright;

namespace Millrace.Server.Tests.Kit;

/// <summary>A Chromium of the machine, whose pages are watched for whatever goes wrong.</summary>
internal sealed class BrowserSession : IAsyncDisposable
{
    private const string Chromium = "/usr/bin/chromium";

    /// <summary>Reached only by what hangs.</summary>
    private const float PatienceMs = 90_000;

    private static readonly string[] Quiet =
    [
        "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ];

    private readonly IPlaywright _playwright;
    private readonly IBrowser _browser;

    private BrowserSession(IPlaywright playwright, IBrowser browser)
    {
        _playwright = playwright;
        _browser = browser;
    }

    /// <summary>Failed requests, exceptions of scripts, and errors on the console.</summary>
    public ConcurrentQueue<string> Troubles { get; } = new();

    /// <summary>A browser drops a request when it needs no more of it, or its page is closed, and Playwright calls that a failure.</summary>
    public void AssertNothingWorseThanDropped() =>
        Assert.All(Troubles, static trouble => Assert.Contains("ERR_ABORTED", trouble, StringComparison.Ordinal));

    /// <summary>The last status of every URL that a page loaded.</summary>
    public ConcurrentDictionary<string, int> Statuses { get; } = new();

    public static void Require() => Assert.SkipUnless(File.Exists(Chromium), "Chromium is not installed.");

    /// <param name="flags">More flags of Chromium.</param>
    public static Task<BrowserSession> StartAsync(params string[] flags) => LaunchAsync(["--disable-quic", .. flags]);

    /// <summary>
    /// One that speaks HTTP/3, with the server of localhost whose key has this hash: at once with that at the port, or where Alt-Svc says.
    /// </summary>
    /// <param name="keyHash">As SHA-256 in base64.</param>
    /// <param name="port">Null where Alt-Svc says it.</param>
    /// <param name="flags">More flags of Chromium.</param>
    public static Task<BrowserSession> StartWithQuicAsync(string keyHash, int? port, params string[] flags) => LaunchAsync([
        "--host-resolver-rules=MAP localhost 127.0.0.1",
        $"--ignore-certificate-errors-spki-list={keyHash}",
        .. port is null ? (string[])[] : [$"--origin-to-force-quic-on=localhost:{port}"],
        .. flags,
    ]);

    private static async Task<BrowserSession> LaunchAsync(string[] flags)
    {
        // The machine's Chromium is used: nothing is to be fetched.
        Environment.SetEnvironmentVariable("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1");
        IPlaywright playwright = await Playwright.CreateAsync();
        return new BrowserSession(playwright, await playwright.Chromium.LaunchAsync(new()
        {
            ExecutablePath = Chromium,
            Args = [.. Quiet, .. flags],
            Timeout = PatienceMs,
        }));
    }

    /// <summary>A profile of its own: nothing comes from another's cache.</summary>
    public async Task<IBrowserContext> NewProfileAsync(BrowserNewContextOptions? options = null)
    {
        IBrowserContext profile = await _browser.NewContextAsync(options);
        profile.SetDefaultTimeout(PatienceMs);
        return profile;
    }

    /// <summary>A new page of a profile, loaded with its fonts. The caller waits for what scripts fetch.</summary>
    public async Task<IPage> OpenAsync(IBrowserContext profile, Uri url)
    {
        IPage page = await profile.NewPageAsync();
        page.Response += (_, response) => Statuses[response.Url] = response.Status;
        page.RequestFailed += (_, request) => Troubles.Enqueue($"{request.Url} failed: {request.Failure}");
        page.PageError += (_, error) => Troubles.Enqueue($"A script failed: {error}");
        page.Console += (_, message) =>
        {
            if (message.Type is "error" or "warning")
            {
                Troubles.Enqueue($"The console says: {message.Text}");
            }
        };
        await page.GotoAsync(url.ToString());
        await page.EvaluateAsync<bool>("() => document.fonts.ready.then(() => true)");
        return page;
    }

    /// <summary>Waits for all pictures of a page, also for those that are out of sight. Returns how many there are.</summary>
    public static Task<int> LoadPicturesAsync(IPage page) => page.EvaluateAsync<int>(
        "() => Promise.all([...document.images].map(i => { i.loading = 'eager'; return i.decode(); })).then(all => all.length)");

    /// <summary>Stores a picture of a page with the artifacts of the tests.</summary>
    public static async Task PhotographAsync(IPage page, string name)
    {
        string path = Path.Combine(Places.Artifacts, $"{name}.png");
        await page.ScreenshotAsync(new() { Path = path });
        Assert.True(new FileInfo(path).Length > 5_000, $"{path} shows next to nothing.");
    }

    public async ValueTask DisposeAsync()
    {
        await _browser.DisposeAsync();
        _playwright.Dispose();
    }
}
