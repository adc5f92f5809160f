using System.Net;
using System.Security.Authentication;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core.Features;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>Where Millrace cannot terminate an address's TLS, Kestrel does, by the same options, and one warning says why.</summary>
public class HttpsFallbackTests
{
    private static readonly RequestDelegate ResponseWho = static context => context.Response.WriteAsync(
        $"{context.Request.Scheme} {(context.Features.Get<ISslStreamFeature>() is null ? "ours" : "kestrel's")} "
        + $"{(Thread.CurrentThread.Name?.StartsWith("millrace-", StringComparison.Ordinal) == true ? "reactor" : "pool")}");

    public static TheoryData<string, Action<MillraceHttpsOptions>> Wishes => new()
    {
        { nameof(MillraceHttpsOptions.ServerCertificateSelector), static https =>
            https.ServerCertificateSelector = static (_, _) => Certificates.Server },
        { nameof(MillraceHttpsOptions.OnAuthenticate), static https =>
            https.OnAuthenticate = static (_, options) => options.AllowTlsResume = false },
        { nameof(MillraceHttpsOptions.TlsClientHelloBytesCallback), static https =>
            https.TlsClientHelloBytesCallback = static (_, _) => { } },
        { "DelayCertificate", static https => https.ClientCertificateMode = ClientCertificateMode.DelayCertificate },
#pragma warning disable CA5398 // That is what is tested.
        { "Tls12", static https => https.SslProtocols = SslProtocols.Tls12 },
#pragma warning restore CA5398
    };

    [Theory, MemberData(nameof(Wishes))]
    public async Task What_only_an_SslStream_can_do_is_left_to_kestrel(string cause, Action<MillraceHttpsOptions> wish)
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace, ResponseWho, endpoint: listen => listen.UseMillraceHttps(Certificates.Server, wish));
        using HttpClient client = application.NewClient();
        await client.GetStringAsync("/");

        Assert.StartsWith("https kestrel's", await client.GetStringAsync("/"), StringComparison.Ordinal);
        LogEntry warning = Assert.Single(application.Log.AboveDebug);
        Assert.Equal(("TlsLeft", LogLevel.Warning), (warning.Event.Name, warning.Level));
        Assert.Contains(cause, warning.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_address_of_another_transport_has_kestrels_tls()
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Sockets, ResponseWho, endpoint: static listen => listen.UseMillraceHttps(Certificates.Server));
        using HttpClient client = application.NewClient(HttpVersion.Version20);

        Assert.Equal("https kestrel's pool", await client.GetStringAsync("/"));
        LogEntry warning = Assert.Single(application.Log.AboveDebug);
        Assert.Contains("UseMillrace()", warning.Text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task The_hosts_certificates_are_chosen_there_too()
    {
        using var folder = new CertificateFolder();
        Tls.CertificateFiles upper = folder.WritePem("upper", "upper.example");
        Tls.CertificateFiles lower = folder.WritePem("lower", "lower.example");
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Sockets, ResponseWho, endpoint: listen => listen.UseMillraceHttps(upper, lower));

        foreach ((string host, string shown) in ((string, string)[])
            [("upper.example", "upper.example"), ("lower.example", "lower.example"), ("elsewhere.example", "upper.example")])
        {
            await using HttpsClient client = await HttpsClient.ConnectAsync(application, options => options.TargetHost = host);
            Assert.Equal($"CN={shown}", client.Stream.RemoteCertificate!.Subject);
        }
    }

    [Fact]
    public async Task An_address_that_says_nothing_of_millrace_keeps_kestrels_tls()
    {
        await using RunningApplication application = await RunningApplication.StartAsync(
            TransportKind.Millrace, ResponseWho, endpoint: static listen => listen.UseHttps(Certificates.Server));
        using HttpClient client = application.NewClient();

        Assert.StartsWith("https kestrel's", await client.GetStringAsync("/"), StringComparison.Ordinal);
        Assert.Empty(application.Log.AboveDebug);
    }
}
