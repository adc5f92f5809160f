using System.Net;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Multiplexed.Kit;

/// <summary>An application that serves HTTP/3 beside the other versions, on one port of 127.0.0.1, and a client that trusts it.</summary>
internal sealed class Http3Application : IAsyncDisposable
{
    private readonly DirectoryInfo _folder;

    private Http3Application(RunningApplication application, DirectoryInfo folder, string authority, int port)
    {
        _folder = folder;
        Application = application;
        Authority = authority;
        Port = port;
        Client = new Http3TestClient(authority);
    }

    public RunningApplication Application { get; }

    public LogCapture Log => Application.Log;

    public int Port { get; }

    public Http3TestClient Client { get; }

    /// <summary>The file of the certificate to trust.</summary>
    public string Authority { get; }

    /// <param name="response">What is done with each request.</param>
    /// <param name="kind">Who gives the certificate.</param>
    /// <param name="transport">Millrace, in one of its ways.</param>
    /// <param name="https">Options of HTTPS.</param>
    /// <param name="endpoint">Replaces HTTPS of the endpoint.</param>
    /// <param name="limits">Kestrel's limits.</param>
    /// <param name="host">Services, and settings of the transport.</param>
    /// <param name="listen">Listens in another way on the port.</param>
    /// <param name="protocols">Those of the endpoint.</param>
    public static async Task<Http3Application> StartAsync(
        RequestDelegate response,
        HttpsKind kind = HttpsKind.Kestrel,
        TransportKind transport = TransportKind.Millrace,
        Action<HttpsConnectionAdapterOptions>? https = null,
        Action<ListenOptions>? endpoint = null,
        Action<KestrelServerLimits>? limits = null,
        Action<IWebHostBuilder>? host = null,
        Action<KestrelServerOptions, int, Action<ListenOptions>>? listen = null,
        HttpProtocols protocols = HttpProtocols.Http1AndHttp2AndHttp3)
    {
        // One number for TCP and for UDP.
        int port = FreePort.Find();
        RunningApplication application = await RunningApplication.StartAsync(
            transport,
            response,
            all =>
            {
                all.MaxRequestBodySize = null;
                limits?.Invoke(all);
            },
            endpoints: kestrel =>
                (listen ?? (static (all, number, configure) => all.Listen(IPAddress.Loopback, number, configure)))(kestrel, port, Configure),
            host: host);
        DirectoryInfo folder = Directory.CreateTempSubdirectory("millrace-http3-");
        string authority = Path.Combine(folder.FullName, "server.pem");
        await File.WriteAllTextAsync(authority, Certificates.Server.ExportCertificatePem());
        return new Http3Application(application, folder, authority, port);

        void Configure(ListenOptions listening)
        {
            listening.Protocols = protocols;
            if (endpoint is not null)
            {
                endpoint(listening);
                return;
            }

            listening.UseHttps(kind, options =>
            {
                options.ServerCertificate = Certificates.Server;
                https?.Invoke(options);
            });
        }
    }

    public Task<Http3TestConnection> ConnectAsync(Http3TestOptions? options = null) => Client.ConnectAsync(Port, options);

    public async ValueTask DisposeAsync()
    {
        await Application.DisposeAsync();
        Client.Dispose();
        _folder.Delete(recursive: true);
    }
}

internal static class Http3Extensions
{
    public static string Text(this Http3TestResponse response) => System.Text.Encoding.ASCII.GetString(response.Content);

    /// <summary>Completes when the token is canceled.</summary>
    public static Task CanceledAsync(this CancellationToken token)
    {
        var fired = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        token.Register(() => fired.TrySetResult());
        return fired.Task.Within();
    }
}
