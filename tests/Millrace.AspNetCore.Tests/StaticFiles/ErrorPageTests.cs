using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Millrace.AspNetCore.StaticFiles;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Files as the pages of errors that the application has found: middlewares run the pipeline for them once more.</summary>
public sealed class ErrorPageTests : IDisposable
{
    private const string Page = "<p>what a pity";

    private readonly SiteFolder _folder = new();

    public ErrorPageTests()
    {
        _folder.Add("index.html", "home");
        _folder.Add("errors/404.html", Page);
        _folder.Add("errors/403.html", Page);
        _folder.Add("errors/500.html", Page);
    }

    public static TheoryData<string, string, string> Requests => new()
    {
        { "GET", "", "" },
        { "GET", "If-None-Match", "*" },
        { "GET", "If-Match", "\"other\"" },
        { "GET", "If-Modified-Since", "Sat, 01 Jan 2050 00:00:00 GMT" },
        { "GET", "Range", "bytes=0-1" },
        { "GET", "Range", "bytes=900-" },
        { "HEAD", "", "" },
        { "POST", "", "" },
        { "OPTIONS", "", "" },
        { "BREW", "", "" },
    };

    public void Dispose() => _folder.Dispose();

    [Theory]
    [MemberData(nameof(Requests))]
    public async Task A_status_that_is_executed_again_stays(string method, string name, string value)
    {
        await using HostedApp app = await StartAsync(new SiteOptions { Root = _folder.Root });
        await AssertPageAsync(app, method, "/missing", HttpStatusCode.NotFound, name, value);
        await AssertPageAsync(app, method, "/forbidden", HttpStatusCode.Forbidden, name, value);
    }

    [Theory]
    [MemberData(nameof(Requests))]
    public async Task An_exception_stays_a_500_with_its_page(string method, string name, string value)
    {
        await using HostedApp app = await StartAsync(new SiteOptions { Root = _folder.Root });
        await AssertPageAsync(app, method, "/crash", HttpStatusCode.InternalServerError, name, value);
    }

    [Fact]
    public async Task The_path_of_a_page_may_be_the_short_one()
    {
        _folder.Add("errors/404/index.html", "of the directory");
        File.Delete(Path.Combine(_folder.Root, "errors/404.html"));
        await using HostedApp app = await StartAsync(new SiteOptions { Root = _folder.Root, CleanUrls = true }, "/errors/{0}");
        using HttpResponseMessage missing = await app.AskAsync(HttpMethod.Get, "/missing");
        Assert.Equal((HttpStatusCode.NotFound, null), (missing.StatusCode, missing.Headers.Location));
        Assert.Equal("of the directory", await missing.Content.ReadAsStringAsync());
        await AssertPageAsync(app, "GET", "/forbidden", HttpStatusCode.Forbidden, "", "");
    }

    [Fact]
    public async Task A_page_that_the_site_has_not_is_the_next_middleware_s_to_find()
    {
        await using HostedApp app = await StartAsync(
            new SiteOptions { Root = _folder.Root, Fallback = "/index.html", Listing = true }, "/elsewhere/{0}");
        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/forbidden");
        Assert.Equal(HttpStatusCode.Forbidden, response.StatusCode);
        Assert.Equal("of the application", await response.Content.ReadAsStringAsync());
    }

    [Fact]
    public async Task An_error_whose_page_is_gone_stays_what_it_is()
    {
        _folder.Add("errors/451.html", Page);
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseStatusCodePagesWithReExecute("/errors/{0}.html");
            app.UseMillraceStaticFiles(new SiteOptions { Root = _folder.Root, CacheFileBytesMax = 0, DescriptorsMax = 0, Watch = WatchMode.Off });
            app.Run(static context =>
            {
                context.Response.StatusCode = StatusCodes.Status451UnavailableForLegalReasons;
                return Task.CompletedTask;
            });
        });
        await AssertPageAsync(app, "GET", "/forbidden", HttpStatusCode.UnavailableForLegalReasons, "", "");
        File.Delete(Path.Combine(_folder.Root, "errors/451.html"));

        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/forbidden");
        Assert.Equal(HttpStatusCode.UnavailableForLegalReasons, response.StatusCode);
        Assert.Equal("", await response.Content.ReadAsStringAsync());
    }

    [Theory]
    [InlineData("POST", "/index.html", 405)]
    [InlineData("GET", "/%zz", 400)]
    public async Task An_error_of_the_site_is_a_page_for_browsers_and_text_for_others(string method, string target, int status)
    {
        await using HostedApp app = await HostedApp.StartAsync(app => app.UseMillraceStaticFiles(_folder.Root));

        string page = await Exchange.SendAsync(app, method, target, "Accept: text/html, */*;q=0.8", "Accept-Encoding: identity");
        string text = await Exchange.SendAsync(app, method, target);

        Assert.StartsWith($"HTTP/1.1 {status} ", page, StringComparison.Ordinal);
        Assert.Contains("\r\nContent-Type: text/html; charset=utf-8\r\n", page, StringComparison.Ordinal);
        Assert.Contains("\r\nContent-Security-Policy: default-src 'none'; ", page, StringComparison.Ordinal);
        Assert.Contains("\r\nVary: Accept", page, StringComparison.Ordinal);
        Assert.Contains($"<h1><b>{status}</b> ", page, StringComparison.Ordinal);
        Assert.StartsWith($"HTTP/1.1 {status} ", text, StringComparison.Ordinal);
        Assert.Contains("\r\nContent-Type: text/plain; charset=utf-8\r\n", text, StringComparison.Ordinal);
        Assert.Contains("\r\nVary: Accept\r\n", text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_unknown_path_passes_on_for_browsers_too()
    {
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.UseMillraceStaticFiles(_folder.Root);
            app.Run(static context => context.Response.WriteAsync("of the application"));
        });

        Assert.EndsWith(
            "of the application\r\n0\r\n\r\n",
            await Exchange.SendAsync(app, "GET", "/nothing", "Accept: text/html"),
            StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    public async Task A_listing_is_coded(string coding)
    {
        await using HostedApp app = await HostedApp.StartAsync(
            app => app.UseMillraceStaticFiles(_folder.Root, static site => site with { Listing = true }));

        string head = await Exchange.SendAsync(app, "HEAD", "/errors/", "Accept-Encoding: " + coding);

        Assert.StartsWith("HTTP/1.1 200 ", head, StringComparison.Ordinal);
        Assert.Contains($"\r\nContent-Encoding: {coding}\r\n", head, StringComparison.Ordinal);
        Assert.Contains("\r\nVary: Accept, Accept-Encoding\r\n", head, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_response_that_has_begun_before_keeps_no_file_open()
    {
        string file = Path.Combine(_folder.Root, "page.html");
        _folder.Add("page.html", Page);
        var options = new SiteOptions { Root = _folder.Root, CacheFileBytesMax = 0, DescriptorsMax = 0, Compression = false };
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.Use(static async (context, next) =>
            {
                await context.Response.WriteAsync("begun");
                try
                {
                    await next(context);
                }
                catch (InvalidOperationException)
                {
                    // The head is out.
                }
            });
            app.UseMillraceStaticFiles(options);
        });

        for (int i = 0; i < 10; i++)
        {
            Assert.Equal("begun"u8.ToArray(), (await app.GetAsync("/page.html")).Body);
        }

        Assert.DoesNotContain(file, Directory.GetFiles("/proc/self/fd").Select(static path => new FileInfo(path).LinkTarget));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public void What_is_in_place_of_a_file_is_stored_by_no_cache_of_any_kind(bool isWithdrawn)
    {
        var headers = new HeaderDictionary
        {
            ["expires"] = "Sat, 01 Jan 2050 00:00:00 GMT",
            ["CDN-cache-control"] = "max-age=86400",
            ["Surrogate-Control"] = "max-age=86400",
            ["cache-control"] = "public",
            ["X-Other"] = "stays",
        };

        (isWithdrawn ? ResponseFields.ClearBodyAndForbidStoring : (Action<IHeaderDictionary>)ResponseFields.RemoveValidators)(headers);

        Assert.Equal(["Cache-Control: no-store", "X-Other: stays"],
            headers.Select(static field => $"{field.Key}: {field.Value}").Order(StringComparer.Ordinal));
    }

    [Fact]
    public async Task A_page_that_a_password_guards_is_shown_to_nobody_without()
    {
        // "right", as cheap as SHA-512 crypt allows.
        const string Hash =
            "$6$rounds=1000$saltstring$mEmMR6JdPLut3.0gCFgR5..jVisIB2iqApHuJY0D8mBBbgY4CBuL2l.0PZBw0ZwEixXjvEmZnqlHGGNBHNeif.";
        string passwords = _folder.PathOf("passwords");
        await File.WriteAllTextAsync(passwords, $"ann:{Hash}\n");
        await using HostedApp app = await StartAsync(new SiteOptions { Root = _folder.Root, PasswordFile = passwords });
        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/forbidden");
        Assert.Equal(HttpStatusCode.NotFound, response.StatusCode);
        Assert.Empty(response.Headers.WwwAuthenticate);
        Assert.Equal("", await response.Content.ReadAsStringAsync());

        string credentials = "Basic " + Convert.ToBase64String("ann:right"u8);
        await AssertPageAsync(app, "GET", "/forbidden", HttpStatusCode.Forbidden, "Authorization", credentials);
        await AssertPageAsync(app, "POST", "/crash", HttpStatusCode.InternalServerError, "Authorization", credentials);
    }

    private static async Task AssertPageAsync(
        HostedApp app, string method, string target, HttpStatusCode status, string name, string value)
    {
        (string, string)[] fields = name.Length == 0 ? [] : [(name, value)];
        using HttpResponseMessage response = await app.AskAsync(new HttpMethod(method), target, fields);
        Assert.Equal(status, response.StatusCode);
        Assert.Equal("text/html", response.Content.Headers.ContentType!.MediaType);
        Assert.Equal(Page.Length, response.Content.Headers.ContentLength);
        Assert.Equal(method == "HEAD" ? "" : Page, await response.Content.ReadAsStringAsync());

        // The page is not what was asked for.
        Assert.Null(response.Headers.ETag);
        Assert.Null(response.Content.Headers.LastModified);
        Assert.Null(response.Content.Headers.ContentRange);
        Assert.Empty(response.Headers.AcceptRanges);
        Assert.Empty(response.Content.Headers.Allow);
        Assert.True(response.Headers.CacheControl!.NoCache, "a page of an error is asked for again");
    }

    private static Task<HostedApp> StartAsync(SiteOptions options, string pages = "/errors/{0}.html") => HostedApp.StartAsync(app =>
    {
        app.UseExceptionHandler("/errors/500.html");
        app.UseStatusCodePagesWithReExecute(pages);
        app.Use(static (context, next) => context.Request.Path.Value switch
        {
            "/crash" => throw new InvalidOperationException("What a handler may do."),
            "/forbidden" => Forbid(context),
            _ => next(context),
        });
        app.UseMillraceStaticFiles(options);
        app.Use(static (context, next) => context.Request.Path.StartsWithSegments("/elsewhere", StringComparison.Ordinal)
            ? context.Response.WriteAsync("of the application")
            : next(context));
    });

    private static Task Forbid(HttpContext context)
    {
        context.Response.StatusCode = StatusCodes.Status403Forbidden;
        return Task.CompletedTask;
    }
}
