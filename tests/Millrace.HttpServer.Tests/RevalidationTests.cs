using System.Text;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;

namespace Millrace.HttpServer.Tests;

/// <summary>Sites whose files are checked for each request, because nothing reports their changes.</summary>
public class RevalidationTests : SiteFixture
{
    /// <summary>Beyond this a file's state is trusted: its next change cannot have the same time.</summary>
    private static readonly TimeSpan UntilSettled = TimeSpan.FromMilliseconds(200);

    [Theory]
    [InlineData("/pages/about.txt", "/pages/about.txt")]
    [InlineData("/pages/about", "/pages/about.html")]
    [InlineData("/some/where", "/app/index.html")]
    [InlineData("/old?id=7", "/pages/new.html")]
    [InlineData("/folder", "/pages/index.html")]
    [InlineData("/missing.js", "/errors/404.html")]
    public async Task A_change_in_place_is_met_by_the_next_request_whatever_path_leads_to_the_file(string target, string file)
    {
        foreach (string name in (string[])["/pages/about.txt", "/pages/about.html", "/app/index.html", "/pages/new.html", "/pages/index.html", "/errors/404.html"])
        {
            Folder.Add(name, Encoding.ASCII.GetBytes($"{name} at first"));
        }

        // Sleeps: the file system's clock decides when a version is settled.
        await Task.Delay(UntilSettled);
        Wire wire = await (await StartAsync(Revalidating)).ConnectAsync();
        Assert.Equal($"{file} at first", (await wire.GetAsync(target)).Text);

        Folder.Add(file, Encoding.ASCII.GetBytes($"{file} as it is now"));

        Assert.Equal($"{file} as it is now", (await wire.GetAsync(target)).Text);
    }

    [Theory]
    [InlineData("/pages/about", "/pages/about.html")]
    [InlineData("/some/where", "/app/index.html")]
    [InlineData("/old?id=7", "/pages/new.html")]
    [InlineData("/folder", "/pages/index.html")]
    [InlineData("/sub/missing.js", "/errors/404.html")]
    public async Task A_file_that_comes_is_met_by_the_next_request_whatever_path_leads_to_it(string target, string file)
    {
        foreach (string name in (string[])["/pages/f.txt", "/app/f.txt", "/errors/f.txt", "/sub/f.txt"])
        {
            Folder.Add(name, SiteFolder.Bytes(10));
        }

        // Sleeps: the file system's clock decides when a version is settled.
        await Task.Delay(UntilSettled);
        Wire wire = await (await StartAsync(Revalidating)).ConnectAsync();
        Assert.Equal(404, (await wire.GetAsync(target)).Status);

        Folder.Add(file, Encoding.ASCII.GetBytes($"{file} is here"));

        Assert.Equal($"{file} is here", (await wire.GetAsync(target)).Text);
    }

    [Fact]
    public async Task Requests_after_one_another_are_answered_in_order()
    {
        byte[] a = Folder.Add("/a.bin", SiteFolder.Bytes(100));
        byte[] b = Folder.Add("/b.bin", SiteFolder.Bytes(100_000));
        Wire wire = await (await StartAsync(Revalidating)).ConnectAsync();

        await wire.SendAsync(string.Concat(Enumerable.Repeat(
            "GET /a.bin HTTP/1.1\r\nHost: a\r\n\r\nGET /b.bin HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 20)));

        for (int i = 0; i < 20; i++)
        {
            (await wire.ReadResponseAsync()).AssertIsWhole(a);
            (await wire.ReadResponseAsync()).AssertIsWhole(b);
        }
    }

    [Fact]
    public async Task Clients_that_go_away_meanwhile_leave_nothing_behind()
    {
        Folder.AddSized(100_000);
        RunningSite site = await StartAsync(Revalidating);

        for (int i = 0; i < 200; i++)
        {
            using Wire wire = await site.ConnectAsync();
            await wire.SendAsync($"GET {SiteFolder.Target(100_000)} HTTP/1.1\r\nHost: a\r\n\r\n");
            wire.Reset();
        }

        (await (await site.ConnectAsync()).GetAsync(SiteFolder.Target(100_000))).AssertIsWhole(SiteFolder.Bytes(100_000));
    }

    private static SiteOptions Revalidating(SiteOptions options) => options with
    {
        Watch = WatchMode.Revalidate,
        CleanUrls = true,
        Fallback = "/app/index.html",
        ErrorPages = new Dictionary<int, string> { [404] = "/errors/404.html" },
        Redirects = [new RedirectRule("/old", "/pages/new.html", 200), new RedirectRule("/folder", "/pages", 200)],
    };
}
