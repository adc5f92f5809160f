using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace Millrace.Acme.Tests.Kit;

/// <summary>A plain HTTP server of a test's own, by Kestrel, on this machine.</summary>
internal sealed class LoopbackServer : IAsyncDisposable
{
    private readonly WebApplication _app;

    private LoopbackServer(WebApplication app) => _app = app;

    /// <summary>Ends with a slash.</summary>
    public Uri Url => new(_app.Urls.Single());

    /// <param name="address">Where it listens.</param>
    /// <param name="port">0 for any.</param>
    /// <param name="answer">Every request.</param>
    public static async Task<LoopbackServer> StartAsync(IPAddress address, int port, RequestDelegate answer)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(address, port));
        WebApplication app = builder.Build();
        app.Run(answer);
        await app.StartAsync();
        return new LoopbackServer(app);
    }

    /// <summary>Connections that are open are cut.</summary>
    public async ValueTask DisposeAsync()
    {
        using var now = new CancellationTokenSource();
        await now.CancelAsync();
        await _app.StopAsync(now.Token);
        await _app.DisposeAsync();
    }
}
