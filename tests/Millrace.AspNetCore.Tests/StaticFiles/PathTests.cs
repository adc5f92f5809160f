using System.Net;
using Microsoft.AspNetCore.Builder;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Which file a target names: as it was sent, below the base, or as a middleware changed it.</summary>
public sealed class PathTests : IDisposable
{
    private readonly SiteFolder _folder = new();

    public PathTests()
    {
        _folder.Add("one.txt", "1");
        _folder.Add("dir/index.html", "dir");
        _folder.Add("a b%.txt", "odd");
        _folder.Add("dir/größe.txt", "size");
        _folder.Add("%41.txt", "percent");
    }

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("/files/one.txt", 200, "1")]
    [InlineData("/files/dir/", 200, "dir")]
    [InlineData("/files/a%20b%25.txt", 200, "odd")]
    [InlineData("/files/dir/gr%C3%B6%C3%9Fe.txt", 200, "size")]
    [InlineData("/files/%2541.txt", 200, "percent")]
    [InlineData("/fil%65s/a%20b%25.txt", 200, "odd")]
    [InlineData("/files/dir/../one.txt", 200, "1")]
    [InlineData("/x/../files/one.txt", 200, "1")]
    [InlineData("/files/dir/%2e%2e/a%20b%25.txt", 200, "odd")]
    [InlineData("/FILES/one.txt", 200, "1")]
    [InlineData("/files/%41.txt", 404, "")]
    [InlineData("/files/dir%2Findex.html", 404, "")]
    [InlineData("/files//one.txt", 200, "1")]
    [InlineData("/files///dir//", 200, "dir")]
    [InlineData("/files//a%20b%25.txt", 200, "odd")]
    [InlineData("/files", 404, "")]
    [InlineData("/one.txt", 404, "")]
    [InlineData("/filesone.txt", 404, "")]
    public async Task A_path_below_a_base_is_found(string target, int status, string text)
    {
        await using HostedApp map = await HostedApp.StartAsync(
            app => app.Map("/files", files => files.UseMillraceStaticFiles(_folder.Root)));
        string response = await Exchange.SendAsync(map, "GET", target);
        Assert.StartsWith($"HTTP/1.1 {status} ", response, StringComparison.Ordinal);
        Assert.EndsWith("\r\n\r\n" + text, response, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_base_of_the_application_is_respected()
    {
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UsePathBase("/größe");
            app.UseMillraceStaticFiles(_folder.Root);
        });

        Assert.Equal("1"u8.ToArray(), (await app.GetAsync("/one.txt")).Body);
        Assert.Equal("1"u8.ToArray(), (await app.GetAsync("/gr%C3%B6%C3%9Fe/one.txt")).Body);
        Assert.Equal("odd"u8.ToArray(), (await app.GetAsync("/gr%C3%B6%C3%9Fe/a%20b%25.txt")).Body);
    }

    [Fact]
    public async Task Redirects_stay_below_the_base()
    {
        SiteOptions options = new()
        {
            Root = _folder.Root,
            Redirects = [new RedirectRule("/old", "/one.txt"), new RedirectRule("/away", "https://elsewhere.example/")],
        };
        await using HostedApp app = await HostedApp.StartAsync(app => app.Map("/files", files => files.UseMillraceStaticFiles(options)));

        Assert.Equal("/files/one.txt", await LocationAsync(app, "/files/old"));
        Assert.Equal("https://elsewhere.example/", await LocationAsync(app, "/files/away"));
        Assert.Equal("dir/?a=b", await LocationAsync(app, "/files/dir?a=b"));
        Assert.Equal("../dir/?a=b", await LocationAsync(app, "/files//dir?a=b"));
    }

    [Theory]
    [InlineData(true, false, null)]
    [InlineData(false, true, null)]
    [InlineData(false, false, "/dir/index.html")]
    public async Task A_base_without_its_slash_leads_to_the_root(bool hasIndex, bool listing, string? fallback)
    {
        if (hasIndex)
        {
            _folder.Add("index.html", "home");
        }

        var options = new SiteOptions { Root = _folder.Root, Listing = listing, Fallback = fallback };
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UsePathBase("/größe");
            app.Map("/files", files => files.UseMillraceStaticFiles(options));
        });

        foreach (string target in (string[])["/files?a=b", "/FILES?a=b", "/fil%65s?a=b", "/gr%C3%B6%C3%9Fe/files?a=b"])
        {
            foreach (HttpMethod method in (HttpMethod[])[HttpMethod.Get, HttpMethod.Head])
            {
                using HttpResponseMessage response = await app.AskAsync(method, target, ("If-None-Match", "*"), ("Range", "bytes=0-1"));
                Assert.Equal(HttpStatusCode.PermanentRedirect, response.StatusCode);
                Assert.Equal("files/?a=b", response.Headers.Location!.OriginalString, ignoreCase: true);
                Assert.True(response.Headers.CacheControl!.NoCache, "it may be a file one day");
                Assert.Null(response.Headers.ETag);
                string path = new Uri(new Uri(app.Address, target), response.Headers.Location).PathAndQuery;
                Assert.Equal(HttpStatusCode.OK, (await app.GetAsync(path)).Status);
            }
        }
    }

    [Fact]
    public async Task A_base_of_other_characters_without_its_slash_leads_to_the_root()
    {
        _folder.Add("index.html", "home");
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UsePathBase("/a/gr:ße");
            app.UseMillraceStaticFiles(_folder.Root);
        });
        Assert.Equal("gr%3A%C3%9Fe/", await LocationAsync(app, "/a/gr:%C3%9Fe"));
        Assert.Null(await LocationAsync(app, "/a/gr:%C3%9Fe/"));
        Assert.Null(await LocationAsync(app, "/"));
    }

    [Theory]
    [InlineData("/one.txt")]
    [InlineData("/dir/../one.txt")]
    [InlineData("/%61%20b")]
    public async Task A_path_that_a_middleware_changed_holds(string target)
    {
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.Use((context, next) =>
            {
                context.Request.Path = "/a b%.txt";
                return next(context);
            });
            app.UseMillraceStaticFiles(_folder.Root);
        });

        Assert.EndsWith("\r\n\r\nodd", await Exchange.SendAsync(app, "GET", target), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/../one.txt", 400)]
    [InlineData("/%2e%2e/one.txt", 400)]
    [InlineData("/dir/..%2f..%2fone.txt", 404)]
    [InlineData("/%zz", 400)]
    [InlineData("/one.txt#top", 400)]
    [InlineData("/./one.txt", 200)]
    [InlineData("http://localhost/one.txt", 200)]
    public async Task A_target_is_decoded_and_refused_as_in_the_server(string target, int status)
    {
        await using HostedApp app = await HostedApp.StartAsync(app => app.UseMillraceStaticFiles(_folder.Root));
        Assert.Equal(status, await Exchange.StatusAsync(app, "GET", target));
    }

    private static async Task<string?> LocationAsync(HostedApp app, string target)
    {
        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, target);
        return response.Headers.Location?.OriginalString;
    }
}
