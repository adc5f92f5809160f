using System.Net;
using System.Net.Security;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.StaticFiles;
using Millrace.StaticFiles;

namespace Millrace.AspNetCore.Tests.StaticFiles.Kit;

/// <summary>An application on Kestrel and its sockets, and a client of Microsoft's that asks it.</summary>
internal sealed class HostedApp : IAsyncDisposable
{
    /// <summary>For what should take no time; a machine may be busy.</summary>
    public static readonly TimeSpan Limit = TimeSpan.FromSeconds(60);

    private readonly WebApplication _app;

    private HostedApp(WebApplication app, Uri address, Version version)
    {
        _app = app;
        Address = address;
        var handler = new SocketsHttpHandler
        {
            AllowAutoRedirect = false,
            AutomaticDecompression = DecompressionMethods.None,
            SslOptions = new SslClientAuthenticationOptions { RemoteCertificateValidationCallback = static (_, _, _, _) => true },
        };
        Client = new HttpClient(handler)
        {
            BaseAddress = address,
            DefaultRequestVersion = version,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Timeout = Limit,
        };
    }

    public HttpClient Client { get; }

    public Uri Address { get; }

    public static Task<HostedApp> StartAsync(Action<WebApplication> configure) =>
        StartAsync(configure, static _ => { }, HttpVersion.Version11);

    public static async Task<HostedApp> StartAsync(Action<WebApplication> configure, Action<ListenOptions> listen, Version version)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseKestrelHttpsConfiguration();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0, listen));
        WebApplication app = builder.Build();
        configure(app);
        await app.StartAsync();
        var addresses = app.Services.GetRequiredService<IServer>().Features.GetRequiredFeature<IServerAddressesFeature>();
        return new HostedApp(app, new Uri(addresses.Addresses.Single()), version);
    }

    /// <summary>The middleware with a site that the test keeps in its hands and disposes.</summary>
    public static (Site Site, HostedSite Hosted) Open(SiteOptions options)
    {
        Site site = Site.Open(options, Microsoft.Extensions.Logging.Abstractions.NullLoggerFactory.Instance);
        return (site, new HostedSite(site));
    }

    public async Task<(HttpStatusCode Status, byte[] Body)> GetAsync(string target)
    {
        using HttpResponseMessage answer = await Client.GetAsync(new Uri(target, UriKind.Relative));
        return (answer.StatusCode, await answer.Content.ReadAsByteArrayAsync());
    }

    public async Task<HttpResponseMessage> AskAsync(HttpMethod method, string target, params (string Name, string Value)[] fields)
    {
        using var request = new HttpRequestMessage(method, new Uri(target, UriKind.Relative))
        {
            Version = Client.DefaultRequestVersion,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
        };
        foreach ((string name, string value) in fields)
        {
            Assert.True(request.Headers.TryAddWithoutValidation(name, value));
        }

        return await Client.SendAsync(request);
    }

    public Task StopAsync() => _app.StopAsync();

    public async ValueTask DisposeAsync()
    {
        Client.Dispose();
        await _app.StopAsync();
        await _app.DisposeAsync();
    }
}

internal static class HostedSiteExtensions
{
    public static IApplicationBuilder Use(this IApplicationBuilder app, HostedSite site) =>
        app.Use(next => new StaticFilesMiddleware(site, next).InvokeAsync);
}
