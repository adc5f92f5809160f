using System.Collections.Concurrent;
using System.Net;
using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Tls;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>Certificates of clients: asked for, judged, and seen by the application.</summary>
public class HttpsClientCertificateTests
{
    private static Task NameClient(HttpContext context) =>
        context.Response.WriteAsync(context.Connection.ClientCertificate?.Subject ?? "nobody");

    private static HttpClient ClientWithCertificate(RunningApplication application, Version? version = null) =>
        application.NewClient(version, static handler => handler.SslOptions.ClientCertificates = [Certificates.Client]);

    [Theory, EachHttps]
    public async Task A_certificate_is_seen_by_the_application(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, NameClient, static https =>
        {
            https.ClientCertificateMode = ClientCertificateMode.RequireCertificate;
            https.ClientCertificateValidation = static (certificate, chain, _) =>
                certificate.Subject == "CN=client" && chain is { ChainElements.Count: > 0 };
        });

        foreach (Version version in (Version[])[HttpVersion.Version11, HttpVersion.Version20])
        {
            using HttpClient client = ClientWithCertificate(application, version);
            Assert.Equal("CN=client", await client.GetStringAsync("/"));
            Assert.Equal("CN=client", await client.GetStringAsync("/"));
        }
    }

    [Theory, EachHttps]
    public async Task Nobody_is_asked_where_none_is_wanted(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, NameClient);
        using HttpClient client = ClientWithCertificate(application);

        Assert.Equal("nobody", await client.GetStringAsync("/"));
    }

    [Theory, EachHttps]
    public async Task Who_has_none_is_served_where_one_is_allowed(HttpsKind kind)
    {
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, NameClient, static https =>
        {
            https.ClientCertificateMode = ClientCertificateMode.AllowCertificate;
            https.AllowAnyClientCertificate();
        });
        using HttpClient client = application.NewClient();
        using HttpClient certified = ClientWithCertificate(application);

        Assert.Equal("nobody", await client.GetStringAsync("/"));
        Assert.Equal("CN=client", await certified.GetStringAsync("/"));
    }

    [Theory, EachHttps]
    public async Task Who_has_none_is_refused_where_one_is_required(HttpsKind kind)
    {
        bool wasAsked = false;
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind,
            context =>
            {
                wasAsked = true;
                return NameClient(context);
            },
            static https =>
            {
                https.ClientCertificateMode = ClientCertificateMode.RequireCertificate;
                https.AllowAnyClientCertificate();
            });

#pragma warning disable CA5398 // Each of them is what is tested.
        foreach (SslProtocols version in (SslProtocols[])[SslProtocols.Tls12, SslProtocols.Tls13])
#pragma warning restore CA5398
        {
            await HttpsClient.RefusedAsync(application, options => options.EnabledSslProtocols = version);
        }

        Assert.False(wasAsked);
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    public async Task One_of_an_unknown_authority_is_refused_unless_the_application_says_otherwise(HttpsKind kind)
    {
        bool wasAsked = false;
        await using RunningApplication application = await HttpsApplication.StartAsync(
            kind,
            context =>
            {
                wasAsked = true;
                return NameClient(context);
            },
            static https => https.ClientCertificateMode = ClientCertificateMode.AllowCertificate);

        await HttpsClient.RefusedAsync(application, static options => options.ClientCertificates = [Certificates.Client]);

        Assert.False(wasAsked);
        Assert.Empty(application.Log.AboveDebug);
    }

    [Theory, EachHttps]
    public async Task One_of_a_known_authority_is_led_to_it_by_what_the_client_sends_along(HttpsKind kind)
    {
        using var family = new CertificateFamily();
        var statuses = new ConcurrentQueue<string>();
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, NameClient, https =>
        {
            https.ClientCertificateMode = ClientCertificateMode.RequireCertificate;
            https.ClientCertificateValidation = (_, chain, _) =>
            {
                statuses.Enqueue(string.Join(" < ", chain!.ChainElements.Select(static one => one.Certificate.Subject)));
                return true;
            };
        });
        using HttpClient client = application.NewClient(adjust: handler =>
        {
            handler.SslOptions.ClientCertificateContext = SslStreamCertificateContext.Create(family.Leaf, [family.Middle, family.Root], offline: true);
            handler.PooledConnectionLifetime = TimeSpan.Zero;
        });

        // The later ones are resumed perhaps, and a client sends nothing then.
        for (int i = 0; i < 4; i++)
        {
            Assert.Equal("CN=leaf", await client.GetStringAsync("/"));
        }

        Assert.All(statuses, static status => Assert.StartsWith("CN=leaf < CN=middle", status, StringComparison.Ordinal));
    }

    [Fact]
    public void What_an_admitted_client_has_sent_along_is_remembered_for_when_it_resumes()
    {
        using var family = new CertificateFamily();
        var led = new List<int>();
        var options = new MillraceHttpsOptions
        {
            ClientCertificateMode = ClientCertificateMode.RequireCertificate,
            ClientCertificateValidation = (_, chain, _) =>
            {
                led.Add(chain!.ChainElements.Count);
                return led.Count != 2;
            },
        };
        TlsSession full = SessionOf(family, family.Middle, family.Root);
        TlsSession resumed = SessionOf(family);
        var check = new ClientCertificateCheck(options);

        // Nobody knows its issuer yet.
        Assert.True(check.Admits(new ConnectionTls(resumed)));

        // Who is refused leaves nothing.
        Assert.False(check.Admits(new ConnectionTls(full)));
        Assert.True(check.Admits(new ConnectionTls(resumed)));

        Assert.True(check.Admits(new ConnectionTls(full)));
        Assert.True(check.Admits(new ConnectionTls(resumed)));
        Assert.Equal([1, 3, 1, 3, 3], led);
    }

    [Fact]
    public void Only_so_many_clients_are_remembered()
    {
        var options = new MillraceHttpsOptions
        {
            ClientCertificateMode = ClientCertificateMode.RequireCertificate,
            ClientCertificateValidation = static (_, _, _) => true,
        };
        var check = new ClientCertificateCheck(options);
        using var family = new CertificateFamily();
        using X509Certificate2 other = CertificateFolder.Make("other.example");
        check.Admits(new ConnectionTls(SessionOf(family, family.Middle)));
        Assert.Equal(1, check.Chains.Remembered);

        for (int i = 0; i < ClientCertificateChains.ChainsMax; i++)
        {
            check.Chains.Remember($"client {i}", [other]);
        }

        Assert.InRange(check.Chains.Remembered, 1, ClientCertificateChains.ChainsMax);
    }

    private static TlsSession SessionOf(CertificateFamily family, params X509Certificate2[] chain) => new()
    {
        Protocol = SslProtocols.Tls13,
        CipherSuite = TlsCipherSuite.TLS_AES_128_GCM_SHA256,
        ApplicationProtocol = null,
        ServerName = null,
        IsResumed = chain.Length == 0,
        ClientCertificate = family.Leaf.RawData,
        ClientChain = [.. chain.Select(static one => (ReadOnlyMemory<byte>)one.RawData)],
    };

    [Theory, EachHttps]
    public async Task The_application_learns_what_is_wrong_and_may_refuse(HttpsKind kind)
    {
        SslPolicyErrors seen = SslPolicyErrors.None;
        X509ChainStatusFlags status = X509ChainStatusFlags.NoError;
        await using RunningApplication application = await HttpsApplication.StartAsync(kind, NameClient, https =>
        {
            https.ClientCertificateMode = ClientCertificateMode.RequireCertificate;
            https.ClientCertificateValidation = (_, chain, errors) =>
            {
                seen = errors;
                status = chain!.ChainStatus.Aggregate(X509ChainStatusFlags.NoError, static (all, one) => all | one.Status);
                return false;
            };
        });

        await HttpsClient.RefusedAsync(application, static options => options.ClientCertificates = [Certificates.Client]);

        Assert.Equal(SslPolicyErrors.RemoteCertificateChainErrors, seen);
        Assert.Equal(X509ChainStatusFlags.UntrustedRoot, status & X509ChainStatusFlags.UntrustedRoot);
    }
}
