using System.Net;
using System.Net.Security;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Hosting.Server.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>
/// An ASP.NET Core application on a transport, from its start to its stop, with all that it logged. It listens on a free port of
/// 127.0.0.1 by default.
/// </summary>
internal sealed class RunningApplication : IAsyncDisposable
{
    private readonly WebApplication _application;

    private RunningApplication(WebApplication application, LogCapture log)
    {
        _application = application;
        Log = log;
    }

    public LogCapture Log { get; }

    public IServiceProvider Services => _application.Services;

    /// <summary>What Kestrel says it listens on.</summary>
    public IReadOnlyList<string> Addresses =>
        [.. _application.Services.GetRequiredService<IServer>().Features.Get<IServerAddressesFeature>()!.Addresses];

    public Uri Url => new(Addresses[0]);

    public IPEndPoint EndPoint => new(IPAddress.Loopback, Url.Port);

    /// <param name="transport">What moves the bytes.</param>
    /// <param name="response">What is done with each request.</param>
    /// <param name="limits">Kestrel's limits.</param>
    /// <param name="endpoint">HTTPS, protocols and connection middleware of the one endpoint.</param>
    /// <param name="endpoints">Endpoints in place of that one.</param>
    /// <param name="host">Services, and settings of the transport.</param>
    /// <param name="routes">Endpoints of an application that routes, in place of the answer.</param>
    public static async Task<RunningApplication> StartAsync(
        TransportKind transport,
        RequestDelegate response,
        Action<KestrelServerLimits>? limits = null,
        Action<ListenOptions>? endpoint = null,
        Action<KestrelServerOptions>? endpoints = null,
        Action<IWebHostBuilder>? host = null,
        Action<WebApplication>? routes = null)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        var log = new LogCapture();
        builder.Logging.SetMinimumLevel(LogLevel.Trace).AddProvider(log);
        builder.WebHost.UseKestrel(options =>
        {
            limits?.Invoke(options.Limits);
            (endpoints ?? (each => each.Listen(IPAddress.Loopback, 0, endpoint ?? (static _ => { }))))(options);
        });
        builder.WebHost.UseTransport(transport);
        host?.Invoke(builder.WebHost);

        WebApplication application = builder.Build();
        application.UseWebSockets();
        if (routes is null)
        {
            application.Run(response);
        }
        else
        {
            routes(application);
        }

        var running = new RunningApplication(application, log);
        try
        {
            await application.StartAsync().Within();
            return running;
        }
        catch
        {
            await running.DisposeAsync();
            throw;
        }
    }

    public Task<RawClient> ConnectAsync() => RawClient.ConnectAsync(EndPoint);

    /// <summary>A client that trusts the certificate of these tests and uses no proxy; the handler may be adjusted.</summary>
    public HttpClient NewClient(Version? version = null, Action<SocketsHttpHandler>? adjust = null)
    {
        var handler = new SocketsHttpHandler
        {
            UseProxy = false,
            SslOptions = new SslClientAuthenticationOptions { RemoteCertificateValidationCallback = Certificates.IsServer },
        };
        adjust?.Invoke(handler);
        return new HttpClient(handler)
        {
            BaseAddress = Url,
            DefaultRequestVersion = version ?? HttpVersion.Version11,
            DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Timeout = Waiting.Patience,
        };
    }

    /// <summary>Lets requests in flight finish.</summary>
    public Task StopAsync() => _application.StopAsync(CancellationToken.None);

    /// <summary>Lets nothing finish beyond the time given.</summary>
    public async Task StopAsync(TimeSpan grace)
    {
        using var timeout = new CancellationTokenSource(grace);
        await _application.StopAsync(timeout.Token);
    }

    /// <summary>As a program does that ends without a stop.</summary>
    public Task DisposeUnstoppedAsync() => _application.DisposeAsync().AsTask();

    public async ValueTask DisposeAsync()
    {
        using (var timeout = new CancellationTokenSource(TimeSpan.FromSeconds(5)))
        {
            await _application.StopAsync(timeout.Token).Within();
        }

        await _application.DisposeAsync().AsTask().Within();
    }
}
