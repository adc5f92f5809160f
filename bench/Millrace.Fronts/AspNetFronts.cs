using System.Net;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Millrace.Fronts;

/// <summary>Kestrel over either transport, with the static files that belong to it and nothing else in its pipeline.</summary>
internal static class AspNetFronts
{
    public static Task ServeByMillraceAsync(int port, string root)
    {
        WebApplicationBuilder builder = Builder(port);
        builder.WebHost.UseMillrace();
        WebApplication app = builder.Build();
        app.UseMillraceStaticFiles(root);
        return app.RunAsync();
    }

    public static Task ServeMappedAssetsAsync(int port)
    {
        WebApplication app = Builder(port).Build();
        app.MapStaticAssets();
        return app.RunAsync();
    }

    private static WebApplicationBuilder Builder(int port)
    {
        // The assets and their manifest lie beside the program, wherever it was started.
        var options = new WebApplicationOptions { ContentRootPath = AppContext.BaseDirectory };
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(options);
        // Nobody that is compared writes a log; and without one, a request has no scope and no activity for its lines.
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(kestrel =>
        {
            kestrel.AddServerHeader = false;
            kestrel.Listen(IPAddress.Loopback, port, static endpoint => endpoint.Protocols = HttpProtocols.Http1);
        });
        return builder;
    }
}
