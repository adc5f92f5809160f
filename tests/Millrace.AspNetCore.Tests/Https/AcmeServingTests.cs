using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Millrace.Acme;
using Millrace.Acme.Challenges;
using Millrace.Acme.Protocol;
using Millrace.AspNetCore.Https.Acme;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>What clients are shown where certificates are obtained.</summary>
public class AcmeServingTests
{
    [Theory, EachAcmeTls]
    public async Task Until_the_first_certificate_comes_a_self_signed_one_is_served_and_the_log_says_so(AcmeTls kind)
    {
        using var folder = new AcmeFolder();
        await using RunningApplication application =
            await AcmeApplication.StartAsync(kind, folder.Options("a.example,b.example"), folder.Clock);

        using X509Certificate2 shown = await application.ShownAsync("b.example");
        Assert.Equal("CN=Not yet obtained", shown.Subject);
        Assert.True(shown.MatchesHostname("a.example") && shown.MatchesHostname("b.example"));
        LogEntry warning = Assert.Single(application.Log.Entries, static entry => entry.Event.Name == "SelfSigned");
        Assert.Equal(LogLevel.Warning, warning.Level);
        Assert.Contains("a.example, b.example", warning.Text, StringComparison.Ordinal);

        string issued = folder.Issue("a.example", "b.example");
        await folder.ReadUntilAsync(async () => (await application.ShownAsync("b.example")).Thumbprint == issued);
    }

    [Theory, EachAcmeTls]
    public async Task A_certificate_is_served_with_its_chain_and_every_protocol(AcmeTls kind)
    {
        using var folder = new AcmeFolder();
        folder.Issue("localhost");
        await using RunningApplication application = await AcmeApplication.StartAsync(kind, folder.Options("localhost"), folder.Clock);

        foreach ((Version version, string expected) in ((Version, string)[])
            [(HttpVersion.Version11, "HTTP/1.1 https"), (HttpVersion.Version20, "HTTP/2 https")])
        {
            using HttpClient client = application.NewClient(version, static handler => handler.SslOptions.Trust(AcmeFolder.Root));
            Assert.Equal(expected, await client.GetStringAsync($"https://localhost:{application.EndPoint.Port}/"));
        }

        Assert.False(application.Log.Has("SelfSigned"));
    }

    [Theory, EachAcmeTls]
    public async Task A_renewed_certificate_is_served_and_open_connections_stay(AcmeTls kind)
    {
        using var folder = new AcmeFolder();
        string first = folder.Issue("a.example");
        await using RunningApplication application = await AcmeApplication.StartAsync(kind, folder.Options("a.example"), folder.Clock);
        await using HttpsClient open = await HttpsClient.ConnectAsync(application, static options => options.TargetHost = "a.example");
        Assert.Equal(first, ((X509Certificate2)open.Stream.RemoteCertificate!).Thumbprint);

        string second = folder.Issue("a.example");
        await folder.ReadUntilAsync(async () => (await application.ShownAsync("a.example")).Thumbprint == second);

        await open.SendAsync("GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 200 OK", await open.ReadToEndAsync(), StringComparison.Ordinal);
    }

    [Theory, EachAcmeTls]
    public async Task A_certificate_is_chosen_by_host_and_what_is_missing_is_self_signed(AcmeTls kind)
    {
        using var folder = new AcmeFolder();
        string a = folder.Issue("a.example");
        string b = folder.Issue("b.example", "www.b.example");
        await using RunningApplication application = await AcmeApplication.StartAsync(
            kind, folder.Options("a.example", "b.example,www.b.example", "missing.example"), folder.Clock);

        Assert.Equal(a, (await application.ShownAsync("a.example")).Thumbprint);
        Assert.Equal(b, (await application.ShownAsync("www.b.example")).Thumbprint);
        Assert.Equal(a, (await application.ShownAsync("elsewhere.example")).Thumbprint);
        Assert.Equal("CN=Not yet obtained", (await application.ShownAsync("missing.example")).Subject);
        Assert.Equal(["SelfSigned", .. OfHttpsOnly(kind)], WarningsOf(application));
    }

    [Theory, EachAcmeTls]
    public async Task Names_that_are_grouped_otherwise_are_served_by_the_certificates_that_they_have(AcmeTls kind)
    {
        using var folder = new AcmeFolder();
        string a = folder.Issue("a.example", "x.example");
        string b = folder.Issue("b.example");
        await using RunningApplication application = await AcmeApplication.StartAsync(
            kind, folder.Options("b.example,a.example"), folder.Clock);
        Assert.Equal(a, (await application.ShownAsync("a.example")).Thumbprint);
        Assert.Equal(b, (await application.ShownAsync("b.example")).Thumbprint);
        Assert.Equal(OfHttpsOnly(kind), WarningsOf(application));

        string own = folder.Issue("a.example", "b.example");
        await folder.ReadUntilAsync(async () => (await application.ShownAsync("a.example")).Thumbprint == own);
        Assert.Equal(own, (await application.ShownAsync("b.example")).Thumbprint);
    }

    [Theory, EachAcmeTls]
    public async Task Where_one_kind_of_key_is_missing_the_other_is_served(AcmeTls kind)
    {
        using var folder = new AcmeFolder();
        string issued = folder.IssueRsa("a.example");
        await using RunningApplication application = await AcmeApplication.StartAsync(
            kind,
            folder.Options("a.example") + (static acme => acme.KeyKinds = AcmeKeyKinds.P256 | AcmeKeyKinds.Rsa2048),
            folder.Clock);

        Assert.Equal(issued, (await application.ShownAsync("a.example")).Thumbprint);
        Assert.Equal(OfHttpsOnly(kind), WarningsOf(application));
    }

    [Theory]
    [InlineData(AcmeTls.Millrace)]
    [InlineData(AcmeTls.InPlaceOfMillrace)]
    public async Task Client_certificates_are_asked_for_as_without_it(AcmeTls kind)
    {
        using var folder = new AcmeFolder();
        folder.Issue("localhost");
        await using RunningApplication application = await AcmeApplication.StartAsync(
            kind,
            static _ => { },
            folder.Clock,
            endpoints: kestrel => kestrel.Listen(IPAddress.Loopback, 0, listen => listen.UseMillraceHttps(https =>
            {
                https.UseAcme(folder.Options("localhost"));
                https.ClientCertificateMode = ClientCertificateMode.RequireCertificate;
                https.ClientCertificateValidation = static (certificate, _, _) => certificate.Thumbprint == Certificates.Client.Thumbprint;
            })));

        await using HttpsClient client = await HttpsClient.ConnectAsync(application, Present(Certificates.Client));
        await client.SendAsync("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        Assert.StartsWith("HTTP/1.1 200 OK", await client.ReadToEndAsync(), StringComparison.Ordinal);
        await HttpsClient.RefusedAsync(application, Present(Certificates.Server));
        await HttpsClient.RefusedAsync(application, static _ => { });

        static Action<SslClientAuthenticationOptions> Present(X509Certificate2 certificate) =>
            options => options.ClientCertificates = [certificate];
    }

    [Fact]
    public async Task Kestrels_other_options_count_where_it_terminates_tls()
    {
        using var folder = new AcmeFolder();
        string obtained = folder.Issue("a.example");
        var hosts = new ConcurrentQueue<string?>();
        await using RunningApplication application = await AcmeApplication.StartAsync(
            AcmeTls.Kestrel,
            static _ => { },
            folder.Clock,
            endpoints: kestrel =>
            {
                kestrel.ConfigureHttpsDefaults(https =>
                {
                    https.ServerCertificateSelector = static (_, host) => host == "own.example" ? Certificates.Server : null;
                    https.OnAuthenticate = (_, handshake) => hosts.Enqueue(handshake.ServerCertificate?.Subject ?? "obtained");
                });
                kestrel.Listen(IPAddress.Loopback, 0, listen => listen.UseAcmeHttps(folder.Options("a.example")));
            });

        Assert.Equal(Certificates.Server.Thumbprint, (await application.ShownAsync("own.example")).Thumbprint);
        Assert.Equal(obtained, (await application.ShownAsync("a.example")).Thumbprint);
        Assert.Equal([Certificates.Server.Subject, "obtained"], hosts);
    }

    [Fact]
    public async Task An_option_that_is_not_supported_fails_the_start()
    {
        var refusal = await Assert.ThrowsAsync<InvalidOperationException>(() => AcmeApplication.StartAsync(
            AcmeTls.Kestrel,
            static _ => { },
            endpoints: static kestrel =>
            {
                kestrel.ConfigureHttpsDefaults(static https => https.TlsClientHelloBytesCallback = static (_, _) => { });
                kestrel.Listen(IPAddress.Loopback, 0, static listen => listen.UseAcmeHttps());
            }));
        Assert.Contains("TlsClientHelloBytesCallback", refusal.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(TransportKind.Millrace)]
    [InlineData(TransportKind.Sockets)]
    public async Task Configured_certificates_come_first(TransportKind transport)
    {
        using var folder = new AcmeFolder();
        string obtained = folder.Issue("a.example");
        using var files = new Kit.CertificateFolder();
        Tls.CertificateFiles configured = files.WritePem("own", "own.example");
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static _ => Task.CompletedTask,
            endpoint: listen => listen.UseMillraceHttps(https =>
            {
                https.Certificates.Add(configured);
                https.UseAcme(folder.Options("a.example", "own.example"));
            }),
            host: host => host.ConfigureServices(services => services.AddMillraceAcme().AddSingleton<TimeProvider>(folder.Clock)));

        Assert.Equal("CN=own.example", (await application.ShownAsync("own.example")).Subject);
        Assert.Equal("CN=own.example", (await application.ShownAsync("elsewhere.example")).Subject);
        Assert.Equal(obtained, (await application.ShownAsync("a.example")).Thumbprint);

        string renewed = folder.Issue("a.example");
        await folder.ReadUntilAsync(async () => (await application.ShownAsync("a.example")).Thumbprint == renewed);
        Assert.Equal("CN=own.example", (await application.ShownAsync("own.example")).Subject);
    }

    [Fact]
    public async Task An_endpoint_of_millrace_answers_tls_alpn_01()
    {
        using var folder = new AcmeFolder();
        await using RunningApplication application =
            await AcmeApplication.StartAsync(AcmeTls.Millrace, folder.Options("a.example"), folder.Clock);
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using X509Certificate2 challenge = ChallengeAnswers.TlsAlpnCertificate(
            AcmeIdentifier.Of("a.example"), new KeyAuthorization("token", key), DateTimeOffset.UtcNow);
        application.Services.GetRequiredService<ObtainedCertificates>().Challenges!.AddTlsAlpn("a.example", challenge);

        await using HttpsClient authority = await HttpsClient.ConnectAsync(application, static options =>
        {
            options.TargetHost = "a.example";
            options.ApplicationProtocols = [new SslApplicationProtocol("acme-tls/1")];
        });

        Assert.Equal(challenge.Thumbprint, ((X509Certificate2)authority.Stream.RemoteCertificate!).Thumbprint);
        Assert.Equal("acme-tls/1", authority.Stream.NegotiatedApplicationProtocol.ToString());
        Assert.Equal("CN=Not yet obtained", (await application.ShownAsync("a.example")).Subject);
    }

    [Fact]
    public async Task The_end_of_an_application_ends_what_obtains_its_certificates()
    {
        using var folder = new AcmeFolder();
        folder.Issue("a.example");
        RunningApplication application = await AcmeApplication.StartAsync(AcmeTls.Millrace, folder.Options("a.example"), folder.Clock);
        ObtainedCertificates obtained = application.Services.GetRequiredService<ObtainedCertificates>();
        await application.StopAsync();

        // A change is for endpoints that are gone.
        folder.Issue("a.example");
        folder.Clock.Advance(TimeSpan.FromMinutes(1));
        await application.DisposeAsync();
        Assert.NotEmpty(obtained.Certificates);
        Assert.Empty(WarningsOf(application));
    }

    /// <summary>Kestrel's TLS answers no validation, and there is no plain endpoint.</summary>
    private static IEnumerable<string> OfHttpsOnly(AcmeTls kind) => kind == AcmeTls.Millrace ? [] : ["NoPlainEndPoint"];

    /// <summary>Besides that Kestrel terminates TLS.</summary>
    private static IEnumerable<string?> WarningsOf(RunningApplication application) => application.Log.Entries
        .Where(static entry => entry.Level >= LogLevel.Warning && entry.Event.Name != "TlsLeft")
        .Select(static entry => entry.Event.Name);
}
