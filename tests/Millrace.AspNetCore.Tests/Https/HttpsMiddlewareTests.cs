using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>Connection middleware in front of TLS has nothing to see but the clear: who looks at bytes there is to know.</summary>
public class HttpsMiddlewareTests
{
    [Fact]
    public async Task An_address_with_middleware_in_front_that_handles_bytes_is_logged_once()
    {
        await using RunningApplication application = await StartAsync(static listen =>
        {
            listen.UseConnectionLogging();
            listen.UseMillraceHttps(Certificates.Server);
        });
        for (int i = 0; i < 2; i++)
        {
            using HttpClient client = application.NewClient();
            Assert.Equal("https", await client.GetStringAsync("/"));
        }

        LogEntry warning = Assert.Single(application.Log.AboveDebug);
        Assert.Equal(("TlsBehindMiddleware", LogLevel.Warning), (warning.Event.Name, warning.Level));
        Assert.Contains(application.EndPoint.ToString(), warning.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Middleware_that_stands_after_or_handles_no_bytes_is_no_news()
    {
        await using RunningApplication application = await StartAsync(static listen =>
        {
            listen.Use(static next => connection => next(connection));
            listen.UseMillraceHttps(Certificates.Server);
            listen.UseConnectionLogging();
        });
        using HttpClient client = application.NewClient();

        Assert.Equal("https", await client.GetStringAsync("/"));
        Assert.Empty(application.Log.AboveDebug);
    }

    private static Task<RunningApplication> StartAsync(Action<ListenOptions> endpoint) => RunningApplication.StartAsync(
        TransportKind.Millrace, static context => context.Response.WriteAsync(context.Request.Scheme), endpoint: endpoint);
}
