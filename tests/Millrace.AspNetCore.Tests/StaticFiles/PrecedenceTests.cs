using System.Net;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>
/// A page for what is nowhere, and what an application has after the site: the page comes last, wherever routing stands.
/// </summary>
public sealed class PrecedenceTests : IDisposable
{
    private readonly SiteFolder _folder = new();

    public PrecedenceTests()
    {
        _folder.Add("index.html", "app");
        _folder.Add("404.html", "not here");
    }

    /// <summary>With the fallback, or with the 404 page alone.</summary>
    public static TheoryData<bool> Sites => [true, false];

    public void Dispose() => _folder.Dispose();

    [Theory]
    [MemberData(nameof(Sites))]
    public async Task Endpoints_of_a_routing_after_the_site_answer(bool hasFallback)
    {
        await using HostedApp app = await StartAsync(hasFallback, static app =>
        {
            app.UseRouting();
            app.MapGet("/api/{id}", static (string id) => id);
            app.MapPost("/api/{id}", static (string id) => $"set {id}");
            app.MapMethods("/api/{id}", ["OPTIONS"], static () => "options");
        });

        Assert.Equal("7", await TextAsync(app, "GET", "/api/7"));
        Assert.Equal("set 7", await TextAsync(app, "POST", "/api/7"));
        Assert.Equal("options", await TextAsync(app, "OPTIONS", "/api/7"));
        await AssertPageAsync(app, hasFallback, "/users/7");
        Assert.Equal("app", await TextAsync(app, "GET", "/"));
        Assert.Equal(405, await Exchange.StatusAsync(app, "POST", "/index.html"));
        Assert.Equal(hasFallback ? 405 : 404, await Exchange.StatusAsync(app, "POST", "/users/7"));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_404_that_a_middleware_keeps_back_has_no_page_after_its_text(bool isWritten)
    {
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.Use(async (context, next) =>
            {
                Stream own = context.Response.Body;
                using var memory = new MemoryStream();
                context.Response.Body = memory;
                await next(context);
                await context.Response.BodyWriter.FlushAsync();
                context.Response.Body = own;
                memory.Position = 0;
                await memory.CopyToAsync(own);
            });
            app.UseMillraceStaticFiles(_folder.Root);
            app.Run(context =>
            {
                context.Response.StatusCode = StatusCodes.Status404NotFound;
                return isWritten ? context.Response.WriteAsync("no such order") : PutAsync(context);
            });
        });

        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/orders/7");
        Assert.Equal(HttpStatusCode.NotFound, response.StatusCode);
        Assert.Equal("no such order", await response.Content.ReadAsStringAsync());

        static Task PutAsync(HttpContext context)
        {
            "no such order"u8.CopyTo(context.Response.BodyWriter.GetSpan(20));
            context.Response.BodyWriter.Advance("no such order"u8.Length);
            return Task.CompletedTask;
        }
    }

    [Theory]
    [MemberData(nameof(Sites))]
    public async Task An_endpoint_s_own_404_stays(bool hasFallback)
    {
        await using HostedApp app = await StartAsync(hasFallback, static app =>
        {
            app.UseRouting();
            app.MapGet("/api/{id}", static (string id) => Results.NotFound());
        });

        (HttpStatusCode status, byte[] body) = await app.GetAsync("/api/7");
        Assert.Equal((HttpStatusCode.NotFound, 0), (status, body.Length));
    }

    [Theory]
    [MemberData(nameof(Sites))]
    public async Task A_middleware_after_the_site_is_asked_once(bool hasFallback)
    {
        int asked = 0;
        await using HostedApp app = await StartAsync(hasFallback, app => app.Use((context, next) =>
        {
            asked++;
            return next(context);
        }));

        await AssertPageAsync(app, hasFallback, "/users/7");
        Assert.Equal(1, asked);
        using HttpResponseMessage head = await app.AskAsync(HttpMethod.Head, "/users/7");
        Assert.Equal(hasFallback ? HttpStatusCode.OK : HttpStatusCode.NotFound, head.StatusCode);
        Assert.Equal(hasFallback ? "app".Length : "not here".Length, head.Content.Headers.ContentLength);
        Assert.Equal(2, asked);
        await app.GetAsync("/");
        Assert.Equal(2, asked);
    }

    [Theory]
    [MemberData(nameof(Sites))]
    public async Task An_answer_with_a_body_stays_whatever_its_status(bool hasFallback)
    {
        await using HostedApp app = await StartAsync(hasFallback, static app => app.Run(static context =>
        {
            context.Response.StatusCode = StatusCodes.Status404NotFound;
            return context.Request.Path.Value switch
            {
                "/written" => context.Response.WriteAsync("no such user"),
                "/typed" => Type(context.Response),
                "/measured" => Measure(context.Response),
                _ => throw new InvalidOperationException("What a handler may do."),
            };
        }));

        Assert.Equal("no such user", await TextAsync(app, "GET", "/written"));
        Assert.Equal("", await TextAsync(app, "GET", "/typed"));
        Assert.Equal("", await TextAsync(app, "GET", "/measured"));
        Assert.Equal(HttpStatusCode.InternalServerError, (await app.GetAsync("/crash")).Status);

        static Task Type(HttpResponse response)
        {
            response.ContentType = "application/problem+json";
            return Task.CompletedTask;
        }

        static Task Measure(HttpResponse response)
        {
            response.ContentLength = 0;
            return Task.CompletedTask;
        }
    }

    [Theory]
    [MemberData(nameof(Sites))]
    public async Task Fields_of_a_404_stay_but_those_of_a_body(bool hasFallback)
    {
        await using HostedApp app = await StartAsync(hasFallback, static app => app.Run(static context =>
        {
            // As one that rewrites paths for itself and whatever stands after it.
            context.Request.Path = "/index.html";
            context.Response.StatusCode = StatusCodes.Status404NotFound;
            context.Response.Headers["X-Behind"] = "yes";
            context.Response.Headers.ETag = "\"nothing\"";
            context.Response.Headers.ContentEncoding = "gzip";
            return Task.CompletedTask;
        }));

        using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/users/7");
        Assert.Equal("yes", response.Headers.GetValues("X-Behind").Single());
        Assert.NotEqual("\"nothing\"", response.Headers.ETag?.Tag);
        Assert.Empty(response.Content.Headers.ContentEncoding);
        await AssertPageAsync(app, hasFallback, "/users/7");
    }

    [Fact]
    public async Task A_second_site_has_its_files_after_the_page_of_the_first()
    {
        string second = _folder.PathOf("second");
        Directory.CreateDirectory(second);
        await File.WriteAllTextAsync(Path.Combine(second, "two.txt"), "of the second");
        await using HostedApp app = await StartAsync(true, app => app.UseMillraceStaticFiles(second));
        Assert.Equal("of the second", await TextAsync(app, "GET", "/two.txt"));
        await AssertPageAsync(app, true, "/users/7");
    }

    [Theory]
    [MemberData(nameof(Sites))]
    public async Task A_page_is_no_request_that_nobody_handled(bool hasFallback)
    {
        using var log = new LogCapture();
        await using HostedApp app = await HostedApp.StartAsync(
            builder =>
            {
                builder.Logging.SetMinimumLevel(LogLevel.Information);
                builder.Services.AddSingleton<ILoggerProvider>(log);
            },
            app => Use(app, hasFallback));
        await AssertPageAsync(app, hasFallback, "/users/7");
        await app.StopAsync();
        Assert.Contains(log.Entries, static entry => entry.Text.Contains("/users/7", StringComparison.Ordinal));
        Assert.DoesNotContain(log.Entries, static entry => entry.Text.Contains("without being handled", StringComparison.Ordinal));
    }

    private Task<HostedApp> StartAsync(bool hasFallback, Action<WebApplication> behind) => HostedApp.StartAsync(app =>
    {
        Use(app, hasFallback);
        behind(app);
    });

    private void Use(WebApplication app, bool hasFallback) =>
        app.UseMillraceStaticFiles(_folder.Root, site => site with { Fallback = hasFallback ? "/index.html" : null });

    private static async Task AssertPageAsync(HostedApp app, bool hasFallback, string target)
    {
        (HttpStatusCode status, byte[] body) = await app.GetAsync(target);
        (HttpStatusCode, string) page = hasFallback ? (HttpStatusCode.OK, "app") : (HttpStatusCode.NotFound, "not here");
        Assert.Equal(page, (status, Encoding.UTF8.GetString(body)));
    }

    private static async Task<string> TextAsync(HostedApp app, string method, string target)
    {
        using HttpResponseMessage response = await app.AskAsync(new HttpMethod(method), target);
        return await response.Content.ReadAsStringAsync();
    }
}
