using System.IO.Compression;
using System.Net;
using System.Security.Claims;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>What is the site's, and what is the rest of the application's.</summary>
public sealed class MergedOptionsTests : IDisposable
{
    private readonly SiteFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task Files_and_endpoints_live_side_by_side()
    {
        byte[] page = _folder.Add("index.html", "<p>home");
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseMillraceStaticFiles(_folder.Root);
            app.MapGet("/api/time", () => "noon");
            app.MapPost("/api/time", () => "set");
        });

        Assert.Equal(page, (await app.GetAsync("/")).Body);
        Assert.Equal("noon"u8.ToArray(), (await app.GetAsync("/api/time")).Body);
        using HttpResponseMessage set = await app.AskAsync(HttpMethod.Post, "/api/time");
        Assert.Equal("set", await set.Content.ReadAsStringAsync());
        Assert.Equal(HttpStatusCode.NotFound, (await app.GetAsync("/missing")).Status);
    }

    [Fact]
    public async Task What_the_site_has_not_goes_on_whatever_the_method()
    {
        _folder.Add("one.txt", "1");
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseMillraceStaticFiles(_folder.Root);
            app.Run(context => context.Response.WriteAsync($"next: {context.Request.Method}"));
        });

        foreach (string method in (string[])["GET", "POST", "PUT", "DELETE", "OPTIONS", "BREW"])
        {
            string response = await Exchange.SendAsync(app, method, "/missing.txt", "Content-Length: 0");
            Assert.Contains($"\r\nnext: {method}\r\n", response, StringComparison.Ordinal);
        }

        Assert.StartsWith("HTTP/1.1 405 ", await Exchange.SendAsync(app, "DELETE", "/one.txt"), StringComparison.Ordinal);
        Assert.Contains("Allow: GET, HEAD, OPTIONS\r\n", await Exchange.SendAsync(app, "DELETE", "/one.txt"), StringComparison.Ordinal);
        Assert.StartsWith("HTTP/1.1 204 ", await Exchange.SendAsync(app, "OPTIONS", "/one.txt"), StringComparison.Ordinal);
        Assert.StartsWith("HTTP/1.1 501 ", await Exchange.SendAsync(app, "BREW", "/one.txt"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_page_for_what_is_missing_answers_after_the_endpoints()
    {
        _folder.Add("404.html", "not here");
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseMillraceStaticFiles(_folder.Root);
            app.MapGet("/api", () => "api");
        });

        (HttpStatusCode status, byte[] body) = await app.GetAsync("/missing");
        Assert.Equal((HttpStatusCode.NotFound, "not here"), (status, Encoding.UTF8.GetString(body)));
        Assert.Equal("api"u8.ToArray(), (await app.GetAsync("/api")).Body);
    }

    [Fact]
    public async Task The_page_of_an_application_answers_for_its_routes_and_not_for_endpoints()
    {
        byte[] page = _folder.Add("index.html", "app");
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseMillraceStaticFiles(_folder.Root, static site => site with { Fallback = "/index.html" });
            app.MapGet("/api/{id}", (string id) => id);
        });

        Assert.Equal(page, (await app.GetAsync("/users/7")).Body);
        Assert.Equal("7"u8.ToArray(), (await app.GetAsync("/api/7")).Body);
        Assert.Equal(HttpStatusCode.NotFound, (await app.GetAsync("/missing.js")).Status);
    }

    [Fact]
    public async Task Two_sites_stand_one_after_the_other()
    {
        _folder.Add("one.txt", "of the first");
        string second = _folder.PathOf("second");
        Directory.CreateDirectory(second);
        await File.WriteAllTextAsync(Path.Combine(second, "one.txt"), "of the second");
        await File.WriteAllTextAsync(Path.Combine(second, "two.txt"), "of the second");
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseMillraceStaticFiles(_folder.Root);
            app.UseMillraceStaticFiles(second);
        });

        Assert.Equal("of the first"u8.ToArray(), (await app.GetAsync("/one.txt")).Body);
        Assert.Equal("of the second"u8.ToArray(), (await app.GetAsync("/two.txt")).Body);
    }

    [Fact]
    public async Task Fields_of_middlewares_before_stay()
    {
        _folder.Add("style.css", new string('a', 5000));
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.Use((context, next) =>
            {
                context.Response.Headers.Vary = "Origin";
                context.Response.Headers["X-Before"] = "yes";
                return next(context);
            });
            app.UseMillraceStaticFiles(_folder.Root);
        });

        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/style.css");
        Assert.Equal(["Origin", "Accept-Encoding"], response.Headers.Vary);
        Assert.Equal("yes", response.Headers.GetValues("X-Before").Single());
    }

    [Fact]
    public async Task A_Cache_Control_that_is_there_stays_unless_a_rule_has_another()
    {
        _folder.Add("style.css", "a");
        _folder.Add("app.3f2a1b9c.js", "a");
        _folder.Add("ruled.txt", "a");
        _folder.Add("_headers", "/ruled.txt\n  Cache-Control: public, max-age=60\n/removed.txt\n  ! Cache-Control\n");
        _folder.Add("removed.txt", "a");
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.Use((context, next) =>
            {
                context.Response.Headers.CacheControl = "private, no-store";
                return next(context);
            });
            app.UseMillraceStaticFiles(_folder.Root);
        });

        Assert.Equal("no-store, private", await CacheControlAsync(app, "/style.css"));
        Assert.Equal("no-store, private", await CacheControlAsync(app, "/app.3f2a1b9c.js"));
        Assert.Equal("no-store, private", await CacheControlAsync(app, "/removed.txt"));
        Assert.Equal("no-store, private", await CacheControlAsync(app, "/_headers"));
        Assert.Equal("public, max-age=60", await CacheControlAsync(app, "/ruled.txt"));
    }

    [Fact]
    public async Task What_a_user_is_signed_in_for_is_no_shared_cache_s()
    {
        _folder.Add("app.3f2a1b9c.js", "a");
        _folder.Add("style.css", "a");
        SiteOptions options = new() { Root = _folder.Root, CacheControl = [new CacheRule("*.css", "public, max-age=60")] };
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.Use((context, next) =>
            {
                bool isSignedIn = context.Request.Headers.ContainsKey("Cookie");
                context.User = new ClaimsPrincipal(new ClaimsIdentity(authenticationType: isSignedIn ? "cookie" : null));
                return next(context);
            });
            app.UseMillraceStaticFiles(options);
        });

        const string personal = "max-age=31536000, private, immutable";
        Assert.Equal("public, max-age=31536000, immutable", await CacheControlAsync(app, "/app.3f2a1b9c.js"));
        Assert.Equal(personal, await CacheControlAsync(app, "/app.3f2a1b9c.js", ("Cookie", "me")));
        Assert.Equal(personal, await CacheControlAsync(app, "/app.3f2a1b9c.js", ("Authorization", "Bearer me")));
        Assert.Equal("public, max-age=60", await CacheControlAsync(app, "/style.css", ("Cookie", "me")));
    }

    [Fact]
    public async Task A_callback_that_waits_before_the_head_is_waited_for()
    {
        byte[] content = _folder.Add("one.txt", "1");
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.Use((context, next) =>
            {
                context.Response.OnStarting(async () =>
                {
                    await Task.Yield();
                    context.Response.Headers["X-Late"] = "yes";
                });
                return next(context);
            });
            app.UseMillraceStaticFiles(_folder.Root);
        });

        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/one.txt");
        Assert.Equal("yes", response.Headers.GetValues("X-Late").Single());
        Assert.Equal(content, await response.Content.ReadAsByteArrayAsync());
    }

    [Theory]
    [InlineData(2_000)]
    [InlineData(50_000)]
    [InlineData(150_000)]
    [InlineData(1_000_000)]
    public async Task A_middleware_that_compresses_gets_the_whole_body(int size)
    {
        byte[] content = _folder.Add("large.css", size);
        await using HostedApp app = await HostedApp.StartAsync(
            builder => builder.Services.AddResponseCompression(),
            app =>
            {
                app.UseResponseCompression();
                app.UseMillraceStaticFiles(_folder.Root, static site => site with { Compression = false });
            });

        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/large.css", ("Accept-Encoding", "gzip"));
        Assert.Equal("gzip", response.Content.Headers.ContentEncoding.Single());
        await using var plain = new GZipStream(await response.Content.ReadAsStreamAsync(), CompressionMode.Decompress);
        using var body = new MemoryStream();
        await plain.CopyToAsync(body);
        Assert.Equal(content, body.ToArray());
    }

    [Fact]
    public async Task A_root_that_cannot_be_served_ends_the_start_with_its_reason()
    {
        SiteException refusal = await Assert.ThrowsAsync<SiteException>(
            () => HostedApp.StartAsync(app => app.UseMillraceStaticFiles(_folder.PathOf("nothing"))));
        Assert.Contains("nothing", refusal.Message, StringComparison.Ordinal);
        Assert.NotEmpty(refusal.Remedy);
    }

    [Fact]
    public async Task A_relative_root_is_below_the_content_root()
    {
        SiteException refusal = await Assert.ThrowsAsync<SiteException>(
            () => HostedApp.StartAsync(static app => app.UseMillraceStaticFiles("no-such-folder")));
        Assert.Contains(Path.Combine(Directory.GetCurrentDirectory(), "no-such-folder"), refusal.Message, StringComparison.Ordinal);
    }

    private static async Task<string> CacheControlAsync(HostedApp app, string target, params (string Name, string Value)[] fields)
    {
        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, target, fields);
        return response.Headers.CacheControl!.ToString();
    }
}
