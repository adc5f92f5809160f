using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.StaticFiles;
using Millrace.StaticFiles;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Serves a folder with Millrace's catalogue and rules, with any server and transport.</summary>
public static class MillraceStaticFilesExtensions
{
    /// <summary>
    /// Serves GET, HEAD and OPTIONS for the files of a folder; other methods on them get 405. Requests for other paths, and requests for
    /// which routing has already chosen an endpoint, pass to the next middleware.
    /// </summary>
    /// <param name="app">The application.</param>
    /// <param name="root">The folder; a relative path is resolved against the content root.</param>
    /// <exception cref="SiteException">The folder cannot be served: the message names cause and remedy.</exception>
    public static IApplicationBuilder UseMillraceStaticFiles(this IApplicationBuilder app, string root)
    {
        ArgumentNullException.ThrowIfNull(root);
        return app.UseMillraceStaticFiles(new SiteOptions { Root = root });
    }

    /// <summary>
    /// Serves a folder with options: <c>app.UseMillraceStaticFiles("wwwroot", site =&gt; site with { Fallback = "/index.html" })</c>.
    /// </summary>
    /// <param name="app">The application.</param>
    /// <param name="root">The folder; a relative path is resolved against the content root.</param>
    /// <param name="configure">Returns the changed options.</param>
    /// <exception cref="SiteException">The folder cannot be served with these options: the message names cause and remedy.</exception>
    public static IApplicationBuilder UseMillraceStaticFiles(
        this IApplicationBuilder app, string root, Func<SiteOptions, SiteOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(root);
        ArgumentNullException.ThrowIfNull(configure);
        return app.UseMillraceStaticFiles(configure(new SiteOptions { Root = root }));
    }

    /// <summary>
    /// Serves a folder with the given options. The folder is read now, watched from now on, and released when the application has stopped.
    /// </summary>
    /// <remarks>
    /// A <see cref="SiteOptions.Fallback"/>, and a 404 page that exists (of <see cref="SiteOptions.ErrorPages"/>; <c>/404.html</c> by
    /// default), respond for paths that the folder does not have, but only if the later middleware left a 404 without a body and no
    /// endpoint ran. A response that already has an error status gets the file at the path as its page, and keeps the status. An existing
    /// Cache-Control stays unless a rule of the site sets another.
    /// </remarks>
    /// <param name="app">The application.</param>
    /// <param name="options">What to serve, and how.</param>
    /// <exception cref="SiteException">The folder cannot be served with these options: the message names cause and remedy.</exception>
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
        Site site = Site.Open(options, services.GetRequiredService<ILoggerFactory>());
        lifetime.ApplicationStopped.Register(site.Dispose);
        return app.Use(next => new StaticFilesMiddleware(site, next).InvokeAsync);
    }
}
