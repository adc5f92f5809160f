using System.Globalization;
using System.Net.Security;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.AspNetCore.Multiplexed.Connections;
using Millrace.AspNetCore.Multiplexed.Tls;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Multiplexed.Kit;
using Millrace.Engine;
using Millrace.Quic.Protection;
using Millrace.QuicTransport;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Multiplexed;

/// <summary>The TLS of HTTP/3: which certificate is served, what applications learn of it, and certificates of clients.</summary>
public class Http3TlsTests
{
    private const string Client = "gtlsclient";

    [Theory]
    [InlineData(HttpsKind.Kestrel)]
    [InlineData(HttpsKind.Millrace)]
    internal async Task An_application_learns_what_was_negotiated(HttpsKind kind)
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context =>
            {
                IFeatureCollection features = context.Features;
                ITlsHandshakeFeature tls = features.Get<ITlsHandshakeFeature>()!;
                string protocol = System.Text.Encoding.ASCII.GetString(
                    features.Get<ITlsApplicationProtocolFeature>()!.ApplicationProtocol.Span);
                return context.Response.WriteAsync(
                    $"{tls.Protocol} {tls.NegotiatedCipherSuite} {tls.HostName} {protocol} {features.Get<ITlsKeyExchangeFeature>()!.Group} "
                    + $"{features.Get<ITlsConnectionFeature>()!.ClientCertificate is null}");
            },
            kind);
        Http3TestConnection client = await application.ConnectAsync();
        string[] words = (await client.GetAsync("/")).Text().Split(' ');
        Assert.Equal("Tls13", words[0]);
        Assert.StartsWith("TLS_", words[1], StringComparison.Ordinal);
        Assert.Equal(["localhost", "h3"], words[2..4]);
        Assert.Equal("True", words[5]);
    }

    [Theory]
    [InlineData(HttpsKind.Kestrel)]
    [InlineData(HttpsKind.Millrace)]
    internal async Task A_selector_chooses_the_certificate_by_host(HttpsKind kind)
    {
        string? asked = null;
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            kind,
            https: options => options.ServerCertificateSelector = (_, host) =>
            {
                asked = host;
                return host == "localhost" ? Certificates.Server : Certificates.Client;
            });
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("here", (await client.GetAsync("/")).Text());
        Assert.Equal("localhost", asked);

        // Another host gets a certificate that this client does not trust.
        await Assert.ThrowsAsync<Http3TestException>(() => application.ConnectAsync(new Http3TestOptions { Host = "elsewhere" }));
    }

    [Fact]
    public async Task A_callback_may_choose_later()
    {
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            endpoint: static listen => listen.UseHttps(new TlsHandshakeCallbackOptions
            {
                OnConnection = static async context =>
                {
                    await Task.Delay(50);
                    Assert.Equal("localhost", context.ClientHelloInfo.ServerName);
                    return new SslServerAuthenticationOptions { ServerCertificate = Certificates.Server };
                },
            }));
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("here", (await client.GetAsync("/")).Text());
        Http3TestConnection second = await application.ConnectAsync();
        Assert.Equal("here", (await second.GetAsync("/")).Text());
    }

    /// <summary>What the application does then may block, or throw.</summary>
    [Fact]
    public async Task A_callback_whose_connection_ends_is_cancelled_and_not_on_the_reactor()
    {
        var begun = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var isOnReactor = new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
        Task connecting;
        await using (Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            endpoint: listen => listen.UseHttps(new TlsHandshakeCallbackOptions
            {
                OnConnection = async context =>
                {
                    context.CancellationToken.Register(() => isOnReactor.TrySetResult(Reactor.Current is not null));
                    begun.TrySetResult();
                    await Task.Delay(Timeout.Infinite, context.CancellationToken);
                    return new SslServerAuthenticationOptions();
                },
            })))
        {
            connecting = application.ConnectAsync();
            await begun.Task.Within();
        }

        Assert.False(await isOnReactor.Task.Within());
        await Assert.ThrowsAnyAsync<Exception>(() => connecting).Within();
    }

    [Fact]
    public async Task A_callback_that_fails_refuses_its_client_and_no_other()
    {
        bool fails = true;
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            endpoint: listen => listen.UseHttps(new TlsHandshakeCallbackOptions
            {
                OnConnection = _ => fails
                    ? throw new InvalidOperationException("no store")
                    : ValueTask.FromResult(new SslServerAuthenticationOptions { ServerCertificate = Certificates.Server }),
            }));
        await Assert.ThrowsAsync<Http3TestException>(() => application.ConnectAsync());
        Assert.Contains("no store", (await application.Log.ExpectAsync("CertificateNotSelected")).Text, StringComparison.Ordinal);
        fails = false;
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("here", (await client.GetAsync("/")).Text());
    }

    [Fact]
    public async Task A_fault_when_the_chosen_handshake_begins_ends_its_connection_and_not_the_reactor()
    {
        bool fails = true;
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            endpoint: listen => listen.UseHttps(new TlsHandshakeCallbackOptions
            {
                OnConnection = context =>
                {
                    if (fails)
                    {
                        // It reports to nothing: an exception.
                        SinkOf((SelectingHandshake)QuicOf(ServedOf(context)).Handshake) = null;
                    }

                    return ValueTask.FromResult(new SslServerAuthenticationOptions { ServerCertificate = Certificates.Server });
                },
            }));
        await Assert.ThrowsAsync<Http3TestException>(() => application.ConnectAsync()).Within();
        await application.Log.ExpectAsync("HandlerFailed");
        fails = false;
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("here", (await client.GetAsync("/")).Text());
    }

    [Fact]
    public async Task A_fault_of_an_action_on_the_reactor_ends_its_connection_and_not_the_reactor()
    {
        MultiplexedConnection? served = null;
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            endpoint: listen => listen.UseHttps(new TlsHandshakeCallbackOptions
            {
                OnConnection = context =>
                {
                    served = ServedOf(context);
                    return ValueTask.FromResult(new SslServerAuthenticationOptions { ServerCertificate = Certificates.Server });
                },
            }));
        Http3TestConnection client = await application.ConnectAsync();
        Assert.Equal("here", (await client.GetAsync("/")).Text());
        MultiplexedConnection first = served!;
        first.RunOnReactor(
            _ => first.Enter(static _ => throw new InvalidOperationException("planted"), state: null), state: null);
        await client.Closed.Within();
        await application.Log.ExpectAsync("HandlerFailed");
        Http3TestConnection second = await application.ConnectAsync();
        Assert.Equal("here", (await second.GetAsync("/")).Text());
    }

    [Fact]
    public async Task A_cancellation_that_the_callback_has_registered_runs_on_no_reactor_and_may_throw()
    {
        var canceled = new TaskCompletionSource<string?>(TaskCreationOptions.RunContinuationsAsynchronously);
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            endpoint: listen => listen.UseHttps(new TlsHandshakeCallbackOptions
            {
                OnConnection = context =>
                {
                    context.CancellationToken.Register(() =>
                    {
                        canceled.TrySetResult(Thread.CurrentThread.IsThreadPoolThread ? "pool" : Thread.CurrentThread.Name);
                        throw new InvalidOperationException("enough");
                    });
                    return ValueTask.FromResult(new SslServerAuthenticationOptions { ServerCertificate = Certificates.Server });
                },
            }));
        Http3TestConnection client = await application.ConnectAsync();
        client.Close();
        Assert.Equal("pool", await canceled.Task.Within());
        await application.Log.ExpectAsync("Unexpected");
        Http3TestConnection second = await application.ConnectAsync();
        Assert.Equal("here", (await second.GetAsync("/")).Text());
    }

    [Theory]
    [InlineData(HttpsKind.Kestrel, ClientCertificateMode.RequireCertificate, true, "client")]
    [InlineData(HttpsKind.Kestrel, ClientCertificateMode.RequireCertificate, false, null)]
    [InlineData(HttpsKind.Kestrel, ClientCertificateMode.AllowCertificate, true, "client")]
    [InlineData(HttpsKind.Kestrel, ClientCertificateMode.AllowCertificate, false, "none")]
    [InlineData(HttpsKind.Millrace, ClientCertificateMode.RequireCertificate, true, "client")]
    [InlineData(HttpsKind.Millrace, ClientCertificateMode.RequireCertificate, false, null)]
    [InlineData(HttpsKind.Millrace, ClientCertificateMode.AllowCertificate, true, "client")]
    [InlineData(HttpsKind.Millrace, ClientCertificateMode.AllowCertificate, false, "none")]
    internal async Task A_clients_certificate_is_checked_and_passed_on(
        HttpsKind kind, ClientCertificateMode mode, bool hasCertificate, string? expected)
    {
        Tool.Require(Client);
        await using Http3Application application = await Http3Application.StartAsync(
            static async context => await context.Response.WriteAsync(
                (await context.Connection.GetClientCertificateAsync())?.GetNameInfo(X509NameType.SimpleName, false) ?? "none"),
            kind,
            https: options =>
            {
                options.ClientCertificateMode = mode;
                options.ClientCertificateValidation = static (certificate, _, _) =>
                    certificate.GetCertHashString() == Certificates.Client.GetCertHashString();
            });
        Assert.Equal(expected, await AskAsync(application, hasCertificate ? Certificates.Client : null));
    }

    [Theory]
    [InlineData(HttpsKind.Kestrel)]
    [InlineData(HttpsKind.Millrace)]
    internal async Task A_certificate_that_the_application_refuses_ends_the_connection(HttpsKind kind)
    {
        Tool.Require(Client);
        await using Http3Application application = await Http3Application.StartAsync(
            static context => context.Response.WriteAsync("here"),
            kind,
            https: static options =>
            {
                options.ClientCertificateMode = ClientCertificateMode.RequireCertificate;
                options.ClientCertificateValidation = static (_, _, _) => false;
            });
        Assert.Null(await AskAsync(application, Certificates.Client));
        await application.Log.ExpectAsync("ClientCertificateRefused");
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1000)]
    [InlineData(3_000_000)]
    public async Task Another_client_downloads_and_uploads(int length)
    {
        Tool.Require(Client);
        byte[] sent = RandomNumberGenerator.GetBytes(length);
        await using Http3Application application = await Http3Application.StartAsync(async context =>
        {
            using var all = new MemoryStream();
            await context.Request.Body.CopyToAsync(all);
            await context.Response.Body.WriteAsync(SHA256.HashData(all.ToArray()));
            await context.Response.Body.WriteAsync(sent);
        });
        using var folder = new TemporaryDirectory();
        string upload = folder.PathOf("upload");
        await File.WriteAllBytesAsync(upload, sent);
        ToolResult result = await RunAsync(application, folder.PathOf(""), length > 0 ? ["-d", upload] : []);
        Assert.True(result.ExitCode == 0, result.Error);
        byte[] received = await File.ReadAllBytesAsync(folder.PathOf("file"));
        Assert.Equal(SHA256.HashData(sent), received[..32]);
        Assert.Equal(sent, received[32..]);
    }

    /// <summary>Kestrel wraps it for its callback.</summary>
    private static MultiplexedConnection ServedOf(TlsHandshakeCallbackContext context) =>
        (MultiplexedConnection)context.Connection.Features.Get<IReactorFeature>()!;

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_quic")]
    private static extern ref QuicServerConnection QuicOf(MultiplexedConnection connection);

    [UnsafeAccessor(UnsafeAccessorKind.Field, Name = "_sink")]
    private static extern ref IHandshakeSink? SinkOf(SelectingHandshake handshake);

    /// <summary>The content of a response to ngtcp2's client; null without one.</summary>
    private static async Task<string?> AskAsync(Http3Application application, X509Certificate2? certificate)
    {
        using var folder = new TemporaryDirectory();
        string[] options = [];
        if (certificate is not null)
        {
            using ECDsa key = certificate.GetECDsaPrivateKey()!;
            await File.WriteAllTextAsync(folder.PathOf("client.pem"), certificate.ExportCertificatePem());
            await File.WriteAllTextAsync(folder.PathOf("client.key"), key.ExportPkcs8PrivateKeyPem());
            options = ["--key", folder.PathOf("client.key"), "--cert", folder.PathOf("client.pem")];
        }

        await RunAsync(application, folder.PathOf(""), options);
        string file = folder.PathOf("file");
        string text = File.Exists(file) ? await File.ReadAllTextAsync(file) : "";
        return text.Length > 0 ? text : null;
    }

    private static Task<ToolResult> RunAsync(Http3Application application, string folder, string[] options)
    {
        string port = application.Port.ToString(CultureInfo.InvariantCulture);
        return Tool.RunAsync(
            Client,
            [
                "--exit-on-all-streams-close", "-q", "--timeout=10s", .. options, $"--download={folder}", "--sni=localhost", "127.0.0.1", port,
                $"https://localhost:{port}/file",
            ]);
    }

    private sealed class TemporaryDirectory : IDisposable
    {
        private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("millrace-http3-");

        public string PathOf(string file) => Path.Combine(_folder.FullName, file);

        public void Dispose() => _folder.Delete(recursive: true);
    }
}
