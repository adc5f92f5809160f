using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.StaticFiles;
using Millrace.StaticFiles;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Serves a folder with Millrace's catalogue and rules, over whatever server and transport the application has.</summary>
public static class MillraceStaticFilesExtensions
{
    /// <summary>
    /// Serves a folder: GET, HEAD and OPTIONS of what it has; other methods there are answered 405. What it has not goes on to the next
    /// middleware, as does what routing has already found an endpoint for.
    /// </summary>
    /// <param name="app">The application.</param>
    /// <param name="root">The folder; a relative path is one below the content root.</param>
    /// <exception cref="SiteException">It cannot be served: the message says why, and what would help.</exception>
    public static IApplicationBuilder UseMillraceStaticFiles(this IApplicationBuilder app, string root)
    {
        ArgumentNullException.ThrowIfNull(root);
        return app.UseMillraceStaticFiles(new SiteOptions { Root = root });
    }

    /// <summary>
    /// The same with options: <c>app.UseMillraceStaticFiles("wwwroot", site =&gt; site with { Fallback = "/index.html" })</c>.
    /// </summary>
    /// <param name="app">The application.</param>
    /// <param name="root">The folder; a relative path is one below the content root.</param>
    /// <param name="configure">Gives the options changed as they should be.</param>
    /// <exception cref="SiteException">It cannot be served so: the message says why, and what would help.</exception>
    public static IApplicationBuilder UseMillraceStaticFiles(
        this IApplicationBuilder app, string root, Func<SiteOptions, SiteOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(root);
        ArgumentNullException.ThrowIfNull(configure);
        return app.UseMillraceStaticFiles(configure(new SiteOptions { Root = root }));
    }

    /// <summary>
    /// The same with options made before. The folder is read now, watched from now on, and given up when the application has stopped.
    /// </summary>
    /// <remarks>
    /// A <see cref="SiteOptions.Fallback"/> answers for paths that the folder has not, and so does a page for 404 that exists (of
    /// <see cref="SiteOptions.ErrorPages"/>; <c>/404.html</c> by default): both only when what comes behind has left a 404 without a body,
    /// and no endpoint has. A response that has the status of an error already gets the file at the path as its page, and keeps the status.
    /// A Cache-Control that is there stays unless a rule of the site has another.
    /// </remarks>
    /// <param name="app">The application.</param>
    /// <param name="options">What to serve, and how.</param>
    /// <exception cref="SiteException">It cannot be served so: the message says why, and what would help.</exception>
    public static IApplicationBuilder UseMillraceStaticFiles(this IApplicationBuilder app, SiteOptions options)
    {
        ArgumentNullException.ThrowIfNull(app);
        ArgumentNullException.ThrowIfNull(options);
        IServiceProvider services = app.ApplicationServices;
        if (!string.IsNullOrEmpty(options.Root) && !Path.IsPathRooted(options.Root))
        {
            string contentRoot = services.GetRequiredService<IWebHostEnvironment>().ContentRootPath;
            options = options with { Root = Path.Combine(contentRoot, options.Root) };
        }

        var lifetime = services.GetRequiredService<IHostApplicationLifetime>();
        var site = new HostedSite(Site.Open(options, services.GetRequiredService<ILoggerFactory>()));
        lifetime.ApplicationStopped.Register(site.Dispose);
        return app.Use(next => new StaticFilesMiddleware(site, next).InvokeAsync);
    }
}
