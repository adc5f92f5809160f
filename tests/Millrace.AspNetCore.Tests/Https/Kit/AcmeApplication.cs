using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.Tests.Kit;

namespace Millrace.AspNetCore.Tests.Https.Kit;

/// <summary>Who terminates the TLS of an endpoint whose certificates are obtained.</summary>
public enum AcmeTls
{
    Millrace,

    /// <summary>Kestrel, as the transport is another.</summary>
    InPlaceOfMillrace,

    /// <summary>Kestrel, as asked for.</summary>
    Kestrel,
}

/// <summary>A test that runs with each that terminates it.</summary>
[AttributeUsage(AttributeTargets.Method)]
public sealed class EachAcmeTlsAttribute() : EachKindAttribute<AcmeTls>(AcmeTls.Millrace);

/// <summary>Applications that obtain certificates.</summary>
internal static class AcmeApplication
{
    /// <param name="kind">Who terminates TLS.</param>
    /// <param name="acme">What to obtain.</param>
    /// <param name="clock">That of the application.</param>
    /// <param name="services">Further services.</param>
    /// <param name="endpoints">Endpoints in place of one on a free port; the action makes one of the kind.</param>
    public static Task<RunningApplication> StartAsync(
        AcmeTls kind,
        Action<MillraceAcmeOptions> acme,
        TimeProvider? clock = null,
        Action<IServiceCollection>? services = null,
        Action<KestrelServerOptions>? endpoints = null) => RunningApplication.StartAsync(
            kind == AcmeTls.Millrace ? TransportKind.Millrace : TransportKind.Sockets,
            static context => context.Response.WriteAsync($"{context.Request.Protocol} {context.Request.Scheme}"),
            endpoint: listen => listen.UseAcme(kind, acme),
            endpoints: endpoints,
            host: host => host.ConfigureServices(all =>
            {
                all.AddMillraceAcme();
                all.AddSingleton(clock ?? TimeProvider.System);
                services?.Invoke(all);
            }));

    public static ListenOptions UseAcme(this ListenOptions listen, AcmeTls kind, Action<MillraceAcmeOptions>? acme) =>
        kind == AcmeTls.Kestrel ? listen.UseAcmeHttps(acme) : listen.UseMillraceHttps(https => https.UseAcme(acme));

    /// <summary>The certificate that a client is shown.</summary>
    public static async Task<X509Certificate2> ShownAsync(this RunningApplication application, string host)
    {
        await using HttpsClient client = await HttpsClient.ConnectAsync(application, options => options.TargetHost = host);
        return new X509Certificate2(client.Stream.RemoteCertificate!);
    }

    /// <summary>A client's options: it trusts a root, and downloads no certificates that a server should have sent.</summary>
    public static void Trust(this SslClientAuthenticationOptions options, X509Certificate2 root)
    {
        options.RemoteCertificateValidationCallback = null;
        options.CertificateChainPolicy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
            DisableCertificateDownloads = true,
            CustomTrustStore = { root },
        };
    }
}
