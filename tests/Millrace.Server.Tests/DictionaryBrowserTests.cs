using System.Diagnostics;
using System.Net;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Microsoft.Playwright;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests;

/// <summary>What Chromium receives of sites that are deployed again while its user is away, with dictionaries and without.</summary>
public sealed class DictionaryBrowserTests : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    /// <summary>Chromium takes both: which one it gets depends on the machine's libraries.</summary>
    private static readonly string?[] WithDictionary = ["dcb", "dcz"];

    private readonly TempFolder _folder = new();
    private readonly string _root;
    private readonly string[] _certificate;
    private readonly string _key;

    public DictionaryBrowserTests()
    {
        _root = _folder.PathOf("site");
        Directory.CreateDirectory(_root);
        _certificate = OwnCertificate.Make(_folder, "own", "localhost");
        using var certificate = X509CertificateLoader.LoadCertificateFromFile(_folder.PathOf("own.crt"));
        _key = Convert.ToBase64String(SHA256.HashData(certificate.PublicKey.ExportSubjectPublicKeyInfo()));
    }

    public void Dispose() => _folder.Dispose();

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_redeployed_vite_application_is_received_as_a_difference()
    {
        BrowserSession.Require();
        string[] versions = await BuildAsync();
        await using BrowserSession browser = await StartBrowserAsync();
        await using IBrowserContext visitor = await browser.NewProfileAsync();
        int port;
        await using (ServerProcess server = await StartAsync(0, "--dictionaries", "--spa"))
        {
            port = server.Url.Port;
            Deploy(versions[0]);
            await AwaitCodedAsync(server, null);
            await VisitAsync(browser, visitor, server.Url, "The wheels of Aldermere");

            string[] before = Deploy(versions[1]);
            await AwaitCodedAsync(server, before);
            Received received = await VisitAsync(browser, visitor, server.Url, "The wheels of Bldermere");
            Assert.NotEmpty(received.Assets);
            Assert.All(received.Assets, static asset => Assert.Contains(asset.Coding, WithDictionary));

            // A visitor without any dictionary, and what it would have been for the other one.
            await using IBrowserContext stranger = await browser.NewProfileAsync();
            Received plain = await VisitAsync(browser, stranger, server.Url, "The wheels of Bldermere");
            Assert.All(plain.Assets, static asset => Assert.Contains(asset.Coding, (string?[])["br", "zstd"]));
            Assert.Equal(plain.Assets.Select(static asset => asset.Path).Order(), received.Assets.Select(static asset => asset.Path).Order());
            Report("application", plain.AssetBytes, received.AssetBytes);
            Assert.True(received.AssetBytes < plain.AssetBytes / 5);
        }

        // The server has lost its dictionaries, and the visitor has some: the page works without them.
        Directory.Delete(_folder.PathOf("kept"), recursive: true);
        Deploy(versions[2]);
        await using ServerProcess restarted = await StartAsync(port, "--dictionaries", "--spa");
        await AwaitCodedAsync(restarted, null);
        Received evicted = await VisitAsync(browser, visitor, restarted.Url, "The wheels of Cldermere");
        Assert.NotEmpty(evicted.Assets);
        Assert.All(evicted.Assets, static asset => Assert.DoesNotContain(asset.Coding, WithDictionary));
        browser.AssertNothingWorseThanDropped();
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task A_difference_in_brotli_is_received_and_decoded()
    {
        BrowserSession.Require();
        string[] versions = [.. Enumerable.Range(1, 2).Select(WriteVersion)];
        await using BrowserSession browser = await StartBrowserAsync();
        await using IBrowserContext visitor = await browser.NewProfileAsync();
        await using ServerProcess server = await StartAsync(0, NewerBrotli.RequireForProcess(), "--dictionaries");
        Deploy(versions[0]);
        await AwaitCodedAsync(server, null);
        await VisitAsync(browser, visitor, server.Url, "The script of version 1");

        string[] before = Deploy(versions[1]);
        await AwaitCodedAsync(server, before, "dcb");
        Received received = await VisitAsync(browser, visitor, server.Url, "The script of version 2");
        ReceivedFile script = Assert.Single(received.Assets);
        Assert.Equal("dcb", script.Coding);
        Assert.InRange(script.Bytes, 1, 500);
        browser.AssertNothingWorseThanDropped();
    }

    [Fact]
    [Trait("Duration", "Full")]
    public async Task The_pages_of_a_documentation_are_received_with_the_dictionary_of_all()
    {
        BrowserSession.Require();
        string[] names = DeployDocumentation("the first edition");
        await using BrowserSession browser = await StartBrowserAsync();
        await using IBrowserContext visitor = await browser.NewProfileAsync();
        string log = _folder.PathOf("access.log");
        await using ServerProcess server = await StartAsync(0, "--page-dictionary", "auto", "--access-log", log);
        string named = await AwaitPageDictionaryAsync(server, names[..9], null);
        await VisitAsync(browser, visitor, new Uri(server.Url, names[0]), "Millrace");

        // The browser fetches the dictionary when it is idle.
        await UntilAsync(() => File.Exists(log) && File.ReadAllText(log).Contains("/.well-known/millrace-dictionary/", StringComparison.Ordinal));
        (long with, long without) = await ReadAsync(server, browser, visitor, names[1..9]);
        Report("eight pages of a documentation", without, with);
        Assert.True(with < without);

        // The second edition: pages have changed, and so may the dictionary. What the visitor has still is one.
        DeployDocumentation("the second edition, with a few words more");
        _ = await AwaitPageDictionaryAsync(server, names[..9], named);
        (with, without) = await ReadAsync(server, browser, visitor, names[1..9]);
        Report("the same pages of the second edition", without, with);
        Assert.True(with < without);
        browser.AssertNothingWorseThanDropped();
    }

    private static void Report(string what, long without, long with)
    {
        TestContext.Current.SendDiagnosticMessage("{0}: {1} bytes without dictionaries, {2} with them", what, without, with);
        Console.WriteLine($"{what}: {without} bytes without dictionaries, {with} with them");
    }

    private static async Task UntilAsync(Func<bool> holds)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (!holds())
        {
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Patience, "It did not come to be in a minute.");
            await Task.Delay(20, TestContext.Current.CancellationToken);
        }
    }

    /// <summary>Reads pages, by a browser that has the dictionary and by one that has nothing.</summary>
    private static async Task<(long With, long Without)> ReadAsync(
        ServerProcess server, BrowserSession browser, IBrowserContext visitor, string[] names)
    {
        long with = 0;
        long without = 0;
        foreach (string name in names)
        {
            Received page = await VisitAsync(browser, visitor, new Uri(server.Url, name), "Millrace");
            Assert.Contains(page.Document.Coding, WithDictionary);
            with += page.Document.Bytes;
            await using IBrowserContext stranger = await browser.NewProfileAsync();
            Received other = await VisitAsync(browser, stranger, new Uri(server.Url, name), "Millrace");
            Assert.DoesNotContain(other.Document.Coding, WithDictionary);
            without += other.Document.Bytes;
        }

        return (with, without);
    }

    /// <summary>Opens a page and waits until it shows a heading. Returns what came over the network.</summary>
    private static async Task<Received> VisitAsync(BrowserSession browser, IBrowserContext profile, Uri url, string heading)
    {
        var responses = new List<IResponse>();
        void Add(object? sender, IResponse response)
        {
            lock (responses)
            {
                responses.Add(response);
            }
        }

        profile.Response += Add;
        IPage page = await browser.OpenAsync(profile, url);
        await page.Locator("h1").GetByText(heading).First.WaitForAsync();
        await page.WaitForLoadStateAsync(LoadState.NetworkIdle);
        profile.Response -= Add;
        var received = new List<ReceivedFile>();
        foreach (IResponse response in responses)
        {
            string? coding = await response.HeaderValueAsync("content-encoding");
            string path = new Uri(response.Url).AbsolutePath;
            received.Add(new ReceivedFile(path, coding, (await response.Request.SizesAsync()).ResponseBodySize));
        }

        await page.CloseAsync();
        return new Received(received);
    }

    private Task<BrowserSession> StartBrowserAsync() =>
        BrowserSession.StartAsync($"--ignore-certificate-errors-spki-list={_key}", "--host-resolver-rules=MAP localhost 127.0.0.1");

    private Task<ServerProcess> StartAsync(int port, params string[] more) => StartAsync(port, [], more);

    private Task<ServerProcess> StartAsync(
        int port, IEnumerable<(string Name, string Value)> variables, params string[] more) => ServerProcess.StartWithAsync(variables,
    [
        _root, "--https", $"localhost:{port}", .. _certificate, "--dictionary-dir", _folder.PathOf("kept"), "--dictionary-cpu", "100", .. more,
    ]);

    /// <summary>Replaces the files of the site. Returns the names and contents of the assets before, as a visitor has them.</summary>
    private string[] Deploy(string version)
    {
        string assets = Path.Combine(_root, "assets");
        string[] before = Directory.Exists(assets) ? [.. Directory.GetFiles(assets).Select(File.ReadAllText)] : [];
        foreach (string source in Directory.GetFiles(version, "*", SearchOption.AllDirectories).OrderBy(static file => file.EndsWith(".html", StringComparison.Ordinal)))
        {
            string target = Path.Combine(_root, Path.GetRelativePath(version, source));
            Directory.CreateDirectory(Path.GetDirectoryName(target)!);
            File.Copy(source, target, overwrite: true);
        }

        foreach (string old in Directory.GetFiles(assets).Where(file => !File.Exists(Path.Combine(version, "assets", Path.GetFileName(file)))))
        {
            File.Delete(old);
        }

        return before;
    }

    /// <summary>Waits until every script and style is coded, with the dictionary of an earlier file if there are any.</summary>
    private async Task AwaitCodedAsync(ServerProcess server, string[]? before, string coding = "dcz")
    {
        foreach (string file in Directory.GetFiles(Path.Combine(_root, "assets")).Where(static file => file.EndsWith("js", StringComparison.Ordinal) || file.EndsWith("css", StringComparison.Ordinal)))
        {
            string path = $"/assets/{Path.GetFileName(file)}";

            // A name that does not show for certain that it has a hash is revalidated, and is no dictionary.
            WireResponse? shown = null;
            await UntilAsync(() => (shown = Wire.Get(server.Url, path)).Status == 200);
            bool isSmall = new FileInfo(file).Length < 300 || shown!.Field("Cache-Control") == "no-cache";
            await UntilAsync(() => isSmall || Wire.Get(server.Url, path, "Accept-Encoding: br").Field("Use-As-Dictionary") is not null);
            await UntilAsync(() => isSmall || before is null || before.Any(old => Wire.Get(
                server.Url, path, $"Accept-Encoding: br, {coding}", $"Available-Dictionary: {NameOf(Encoding.UTF8.GetBytes(old))}")
                .Field("Content-Encoding") == coding));
        }
    }

    /// <summary>Waits until pages are coded with the dictionary that they link to, and with an earlier one.</summary>
    private static async Task<string> AwaitPageDictionaryAsync(ServerProcess server, string[] pages, string? earlier)
    {
        string named = "";
        foreach (string page in pages)
        {
            await UntilAsync(() =>
            {
                string? link = Wire.Get(server.Url, page).Field("Link");
                named = link is null ? "" : NameOf(Wire.Get(server.Url, link[1..link.IndexOf('>', StringComparison.Ordinal)]).Body);
                return IsCodedWith(named) && (earlier is null || IsCodedWith(earlier));
            });

            bool IsCodedWith(string dictionary) => Wire.Get(
                server.Url, page, "Accept-Encoding: br, dcz", $"Available-Dictionary: {dictionary}").Field("Content-Encoding") == "dcz";
        }

        return named;
    }

    private static string NameOf(byte[] dictionary) => $":{Convert.ToBase64String(SHA256.HashData(dictionary))}:";

    /// <summary>Three versions of samples/spa, which differ in a name that several files have.</summary>
    private static async Task<string[]> BuildAsync()
    {
        string work = await NodeProject.MakeAsync(Path.Combine(Places.Repository, "samples", "spa"), "spa-versions", static async work =>
        {
            string before = "Aldermere";
            foreach (string name in (string[])["Aldermere", "Bldermere", "Cldermere"])
            {
                foreach (string file in Directory.GetFiles(Path.Combine(work, "src"), "*", SearchOption.AllDirectories))
                {
                    string text = await File.ReadAllTextAsync(file);
                    await File.WriteAllTextAsync(file, text.Replace(before, name, StringComparison.Ordinal));
                }

                await File.AppendAllTextAsync(Path.Combine(work, "src", "style.css"), $".of-{name} {{ color: #123456; }}\n");
                before = name;
                await Tool.RunToSuccessAsync(NodeProject.Deadline, "npm", "run", "build", "--prefix", work, "--", "--outDir", $"version-{name}");
            }
        });
        return [.. Directory.GetDirectories(work, "version-*").Order(StringComparer.Ordinal)];
    }

    /// <summary>A version of a page with a script, in a folder of its own.</summary>
    private string WriteVersion(int version)
    {
        string name = version == 1 ? "app-3f2a1b9c.js" : "app-4b7c1d2e.js";
        string folder = _folder.PathOf($"version{version}");
        Directory.CreateDirectory(Path.Combine(folder, "assets"));
        File.WriteAllText(
            Path.Combine(folder, "index.html"),
            $"<!doctype html><title>Script</title><link rel=icon href=\"data:,\"><h1></h1><script type=module src=/assets/{name}></script>");
        string values = string.Concat(Enumerable.Range(0, 600).Select(static i => $"const value{i} = 'value {i * i * 7919 % 10_007}';\n"));
        File.WriteAllText(
            Path.Combine(folder, "assets", name),
            $"{values}document.querySelector('h1').textContent = 'The script of version {version}';\n{values.Replace("const", "export const other", StringComparison.Ordinal).Replace("other value", "other", StringComparison.Ordinal)}");
        return folder;
    }

    /// <summary>The guides of the repository as pages with a common frame.</summary>
    private string[] DeployDocumentation(string edition)
    {
        string[] guides = [.. Directory.GetFiles(Path.Combine(Places.Repository, "docs"), "*.md")
            .Concat(Directory.GetFiles(Path.Combine(Places.Repository, "docs", "adr"), "*.md"))
            .Where(static file => new FileInfo(file).Length < 40_000).Order(StringComparer.Ordinal)];
        string navigation = string.Concat(guides.Select(static guide =>
            $"<li class=\"navigation-entry\"><a href=\"/{Path.GetFileNameWithoutExtension(guide)}.html\">{Path.GetFileNameWithoutExtension(guide)}</a></li>\n"));
        foreach (string guide in guides)
        {
            string body = string.Concat(File.ReadAllText(guide).Split("\n\n").Select(static part => $"<p>{WebUtility.HtmlEncode(part)}</p>\n"));
            File.WriteAllText(
                Path.Combine(_root, Path.GetFileNameWithoutExtension(guide) + ".html"),
                "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"
                + $"<title>{Path.GetFileName(guide)}</title><link rel=icon href=\"data:,\"></head>\n<body>\n<header><h1>Millrace, {edition}</h1></header>\n"
                + $"<nav><ul>{navigation}</ul></nav>\n<main>{body}<p>{edition}</p></main>\n<footer>{edition}</footer></body></html>\n");
        }

        return [.. guides.Select(static guide => $"/{Path.GetFileNameWithoutExtension(guide)}.html")];
    }

    private sealed record ReceivedFile(string Path, string? Coding, long Bytes);

    private sealed record Received(IReadOnlyList<ReceivedFile> Files)
    {
        public ReceivedFile Document => Files[0];

        /// <summary>The scripts and styles, but for those of a few bytes, which nothing codes.</summary>
        public IReadOnlyList<ReceivedFile> Assets =>
        [
            .. Files.Where(static file => file.Path.StartsWith("/assets/", StringComparison.Ordinal)
                && (file.Path.EndsWith(".js", StringComparison.Ordinal) || file.Path.EndsWith(".css", StringComparison.Ordinal))
                && file.Coding is not null),
        ];

        public long AssetBytes => Assets.Sum(static asset => asset.Bytes);
    }
}
