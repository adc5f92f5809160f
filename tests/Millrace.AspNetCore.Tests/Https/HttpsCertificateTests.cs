using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Tls;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>The certificates that <c>UseMillraceHttps</c> takes, and which one a client is shown.</summary>
public class HttpsCertificateTests
{
    private static readonly RequestDelegate Response = static context => context.Response.WriteAsync("answer");

    [Fact]
    public async Task A_certificate_is_taken_as_an_object_and_from_files_of_every_kind()
    {
        using var folder = new CertificateFolder();
        string pfx = folder.WritePfx("store.pfx", "store.example", "secret");
        string pem = folder.WriteOnePem("one.pem", "one.example");
        CertificateFiles two = folder.WritePem("two", "two.example");
        CertificateFiles locked = folder.WritePem("locked", "locked.example", "secret");
        (string Host, Action<ListenOptions> Listen)[] ways =
        [
            ("localhost", static listen => listen.UseMillraceHttps(Certificates.Server)),
            ("localhost", static listen => listen.UseMillraceHttps(Certificates.Server, static https => https.HandshakeTimeout *= 2)),
            ("localhost", static listen => listen.UseMillraceHttps(static https => https.ServerCertificate = Certificates.Server)),
            ("store.example", listen => listen.UseMillraceHttps(pfx, "secret")),
            ("one.example", listen => listen.UseMillraceHttps(pem)),
            ("one.example", listen => listen.UseMillraceHttps(pem, null, static https => https.HandshakeTimeout *= 2)),
            ("two.example", listen => listen.UseMillraceHttps(two)),
            ("locked.example", listen => listen.UseMillraceHttps(locked)),
        ];

        foreach ((string host, Action<ListenOptions> listen) in ways)
        {
            await using RunningApplication application = await RunningApplication.StartAsync(TransportKind.Millrace, Response, endpoint: listen);

            Assert.Equal(host, await ShownAsync(application, "localhost"));
            Assert.Empty(application.Log.AboveDebug);
        }
    }

    [Fact]
    public async Task Paths_are_relative_to_the_content_root()
    {
        using var folder = new CertificateFolder();
        folder.WriteOnePem("one.pem", "one.example");
        string name = Path.GetRelativePath(AppContext.BaseDirectory, folder.PathOf("one.pem"));
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace,
            Response,
            endpoint: listen => listen.UseMillraceHttps(Path.GetRelativePath(RootOf(listen), folder.PathOf("one.pem"))));

        Assert.False(Path.IsPathRooted(name));
        Assert.Equal("one.example", await ShownAsync(application, "localhost"));
    }

    [Fact]
    public async Task The_certificate_of_kestrels_defaults_is_used_where_none_is_given()
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace,
            static context => context.Response.WriteAsync(context.Features.Get<ISslStreamFeature>() is null ? "ours" : "kestrel's"),
            endpoints: static kestrel =>
            {
                kestrel.ConfigureHttpsDefaults(static https => https.ServerCertificate = Certificates.Server);
                kestrel.Listen(System.Net.IPAddress.Loopback, 0, static listen => listen.UseMillraceHttps());
            });
        using HttpClient client = application.NewClient();

        Assert.Equal("ours", await client.GetStringAsync("/"));
    }

    [Fact]
    public async Task A_file_that_is_not_what_it_must_be_is_named()
    {
        using var folder = new CertificateFolder();
        File.WriteAllText(folder.PathOf("nonsense.pem"), "-----BEGIN NONSENSE-----");
        folder.WritePfx("store.pfx", "store.example", "secret");

        foreach ((string file, string? password) in ((string, string?)[])[("none.pem", null), ("nonsense.pem", null), ("store.pfx", "wrong")])
        {
            TlsException refusal = await Assert.ThrowsAsync<TlsException>(() => RunningApplication.StartAsync(
                TransportKind.Millrace, Response, endpoint: listen => listen.UseMillraceHttps(folder.PathOf(file), password)));
            Assert.Contains(file, refusal.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task A_client_is_shown_the_certificate_for_the_host_that_it_names()
    {
        using var folder = new CertificateFolder();
        CertificateFiles upper = folder.WritePem("upper", "upper.example");
        using X509Certificate2 lower = CertificateFolder.Make("*.lower.example");
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace, Response, endpoint: listen => listen.UseMillraceHttps(upper, new LoadedCertificate(lower)));

        Assert.Equal("upper.example", await ShownAsync(application, "upper.example"));
        Assert.Equal("*.lower.example", await ShownAsync(application, "mill.lower.example"));
        Assert.Equal("upper.example", await ShownAsync(application, "elsewhere.example"));
        Assert.Equal("upper.example", await ShownAsync(application, ""));
    }

    [Fact]
    public async Task Files_that_change_are_read_again_and_open_connections_stay()
    {
        using var folder = new CertificateFolder();
        CertificateFiles files = folder.WritePem("mill", "old.example");
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace,
            Response,
            endpoint: listen => listen.UseMillraceHttps(https =>
            {
                https.Certificates.Add(files);
                https.CertificateCheckInterval = TimeSpan.FromMilliseconds(20);
            }));
        await using HttpsClient open = await HttpsClient.ConnectAsync(application);
        Assert.Equal("old.example", await ShownAsync(application, "localhost"));

        folder.WritePem("mill", "new.example");

        await application.Log.ExpectAsync("CertificatesReloaded");
        string shown = "";
        for (int i = 0; shown != "new.example"; i++)
        {
            // Between the two renames the key is another's: what is refused then is tried again after the second.
            Assert.True(i < 1000, $"{shown} is still shown.");
            shown = await ShownAsync(application, "localhost");
        }

        await open.SendAsync("GET / HTTP/1.0\r\n\r\n");
        Assert.EndsWith("answer", await open.ReadToEndAsync(), StringComparison.Ordinal);
    }

    private static string RootOf(ListenOptions listen) =>
        ((Microsoft.Extensions.Hosting.IHostEnvironment)listen.ApplicationServices.GetService(
            typeof(Microsoft.Extensions.Hosting.IHostEnvironment))!).ContentRootPath;

    private static async Task<string> ShownAsync(RunningApplication application, string host)
    {
        await using HttpsClient client = await HttpsClient.ConnectAsync(application, options => options.TargetHost = host);
        return client.Stream.RemoteCertificate!.Subject["CN=".Length..];
    }
}
