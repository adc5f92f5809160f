using System.Net;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
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
            SslOptions = new SslClientAuthenticationOptions
            {
                RemoteCertificateValidationCallback = static (_, certificate, _, _) => Certificate.Equals(certificate),
            },
        };
        Client = new HttpClient(handler)
        {
            BaseAddress = address,
            DefaultRequestVersion = version,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Timeout = Limit,
        };
    }

    /// <summary>Made by this run for itself.</summary>
    public static X509Certificate2 Certificate { get; } = MakeCertificate();

    public HttpClient Client { get; }

    public Uri Address { get; }

    public static Task<HostedApp> StartAsync(Action<WebApplication> configure) => StartAsync(static _ => { }, configure);

    public static Task<HostedApp> StartAsync(Action<WebApplicationBuilder> build, Action<WebApplication> configure) =>
        StartAsync(build, configure, static _ => { }, HttpVersion.Version11);

    /// <summary>Over HTTPS, with HTTP/2 alone.</summary>
    public static Task<HostedApp> StartHttp2Async(Action<WebApplication> configure) => StartAsync(
        static _ => { },
        configure,
        static listen =>
        {
            listen.Protocols = HttpProtocols.Http2;
            listen.UseHttps(Certificate);
        },
        HttpVersion.Version20);

    public async Task<(HttpStatusCode Status, byte[] Body)> GetAsync(string target)
    {
        using HttpResponseMessage response = await Client.GetAsync(new Uri(target, UriKind.Relative));
        return (response.StatusCode, await response.Content.ReadAsByteArrayAsync());
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

    private static async Task<HostedApp> StartAsync(
        Action<WebApplicationBuilder> build, Action<WebApplication> configure, Action<ListenOptions> listen, Version version)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseKestrelHttpsConfiguration();
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(IPAddress.Loopback, 0, listen));
        build(builder);
        WebApplication app = builder.Build();
        try
        {
            configure(app);
            await app.StartAsync();
        }
        catch
        {
            await app.DisposeAsync();
            throw;
        }

        return new HostedApp(app, new Uri(app.Urls.Single()), version);
    }

    private static X509Certificate2 MakeCertificate()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256);
        return request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
    }
}

/// <summary>The middleware with a site that the test owns.</summary>
internal static class SiteExtensions
{
    public static IApplicationBuilder Use(this IApplicationBuilder app, Site site) =>
        app.Use(next => new StaticFilesMiddleware(site, next).InvokeAsync);
}
