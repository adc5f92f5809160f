using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Https.Acme;
using Millrace.AspNetCore.Transport;
using Millrace.Tls;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>
/// What one endpoint asks of the Millrace transport: options, and HTTPS by Millrace. There the transport itself encrypts and decrypts, and
/// Kestrel receives connections whose TLS handshake is complete. All connection middleware of the endpoint sees decrypted bytes, also
/// middleware registered before <c>UseMillraceHttps</c>, unlike with <c>UseHttps</c>; a warning is logged once if such middleware processes
/// bytes. Middleware that must read before TLS, such as the PROXY protocol, needs <c>UseHttps</c>.
/// </summary>
public static class MillraceListenOptionsExtensions
{
    /// <summary>
    /// Changes the transport's options for this endpoint, overriding all other sources. No effect where Millrace does not serve it.
    /// <code>
    /// kestrel.ListenAnyIP(5001, listen => listen.ConfigureMillrace(own => own.Scheduling = TransportScheduling.ThreadPool));
    /// </code>
    /// </summary>
    public static ListenOptions ConfigureMillrace(this ListenOptions listenOptions, Action<MillraceEndPointOptions> configure)
    {
        ArgumentNullException.ThrowIfNull(listenOptions);
        ArgumentNullException.ThrowIfNull(configure);
        if (listenOptions.ApplicationServices.GetService<EndPointBuilds>() is { } builds)
        {
            listenOptions.Use(next =>
            {
                builds.Note(listenOptions, configure);
                return next;
            });
            ((IMultiplexedConnectionBuilder)listenOptions).Use(next =>
            {
                builds.Note(listenOptions, configure);
                return next;
            });
        }

        return listenOptions;
    }

    /// <summary>
    /// Like <c>UseHttps()</c>: uses the certificate of the configuration, or else the development certificate. Middleware registered before
    /// it does not see the encrypted bytes (<see cref="MillraceListenOptionsExtensions"/>). Where Millrace does not serve the endpoint, or
    /// does not support an option, this is <c>UseHttps</c>.
    /// </summary>
    /// <exception cref="InvalidOperationException">There is no certificate.</exception>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions) => listenOptions.UseMillraceHttps(static _ => { });

    /// <summary>Uses a certificate with its private key.</summary>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions, X509Certificate2 serverCertificate)
    {
        ArgumentNullException.ThrowIfNull(serverCertificate);
        return listenOptions.UseMillraceHttps(https => https.ServerCertificate = serverCertificate);
    }

    /// <summary>Uses a certificate with its private key, and options.</summary>
    public static ListenOptions UseMillraceHttps(
        this ListenOptions listenOptions, X509Certificate2 serverCertificate, Action<MillraceHttpsOptions> configureOptions)
    {
        ArgumentNullException.ThrowIfNull(serverCertificate);
        ArgumentNullException.ThrowIfNull(configureOptions);
        return listenOptions.UseMillraceHttps(https =>
        {
            https.ServerCertificate = serverCertificate;
            configureOptions(https);
        });
    }

    /// <summary>
    /// Uses a certificate file, relative to the content root: PKCS #12 (.pfx, .p12), or PEM with the certificate, its chain and the key. A
    /// PEM file is reloaded when it changes.
    /// </summary>
    /// <exception cref="TlsException">The file cannot be used; the message says why.</exception>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions, string fileName, string? password = null) =>
        listenOptions.UseMillraceHttps(fileName, password, static _ => { });

    /// <summary>Uses a certificate file, as above, and options.</summary>
    /// <exception cref="TlsException">The file cannot be used; the message says why.</exception>
    public static ListenOptions UseMillraceHttps(
        this ListenOptions listenOptions, string fileName, string? password, Action<MillraceHttpsOptions> configureOptions)
    {
        ArgumentNullException.ThrowIfNull(listenOptions);
        ArgumentNullException.ThrowIfNull(fileName);
        ArgumentNullException.ThrowIfNull(configureOptions);
        return listenOptions.UseMillraceHttps(https =>
        {
            https.Certificates.Add(CertificatePaths.Open(listenOptions, fileName, password));
            configureOptions(https);
        });
    }

    /// <summary>Uses certificates by host (SNI); the first is the default, also for clients that send no host name.</summary>
    /// <exception cref="TlsException">A file cannot be used; the message says why.</exception>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions, params ServerCertificate[] certificates)
    {
        ArgumentNullException.ThrowIfNull(certificates);
        return listenOptions.UseMillraceHttps(https => Array.ForEach(certificates, https.Certificates.Add));
    }

    /// <summary>Uses options, which start with the values of <c>ConfigureHttpsDefaults</c>.</summary>
    /// <exception cref="InvalidOperationException">There is no certificate.</exception>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions, Action<MillraceHttpsOptions> configureOptions)
    {
        ArgumentNullException.ThrowIfNull(listenOptions);
        ArgumentNullException.ThrowIfNull(configureOptions);
        IServiceProvider services = listenOptions.ApplicationServices;
        var log = new TransportLog(services.GetRequiredService<ILoggerFactory>().CreateLogger(TransportLog.Category));
        var own = new MillraceHttpsOptions();
        EndPointBuilds? builds = services.GetService<EndPointBuilds>();
        builds?.NoteServer(listenOptions.KestrelServerOptions);
        var endPoint = new HttpsEndPoint(listenOptions, own);
        listenOptions.Use(next =>
        {
            builds?.Note(listenOptions, endPoint);
            return new DecryptedConnections(next, own, log).OnConnectionAsync;
        });
        ((IMultiplexedConnectionBuilder)listenOptions).Use(next =>
        {
            builds?.Note(listenOptions, endPoint);
            return next;
        });

        // Kestrel passes on connections that have TLS already, and this call marks the endpoint as https.
        HttpsConnectionAdapterOptions kestrels = own;
        listenOptions.UseHttps(options =>
        {
            kestrels = options;
            KestrelHttpsOptions.Copy(options, own);
            configureOptions(own);
            CertificatePaths.Find(listenOptions, own.Certificates);
            KestrelHttpsOptions.Copy(own, options);
            if (own.Acme is { } configure)
            {
                bool answersTlsAlpn = builds is not null && endPoint.IsSupported;
                AcmeHttps.Use(listenOptions, options, KestrelHttpsOptions.ListCertificates(own), configure, answersTlsAlpn);
            }
            else
            {
                KestrelHttpsOptions.SetCertificates(options, own.Certificates);
            }
        });

        // The certificate of the configuration, or the development certificate.
        own.ServerCertificate ??= kestrels.ServerCertificate;
        if (builds is null)
        {
            log.TlsLeft(listenOptions.EndPoint, "Kestrel does not use the Millrace transport; call UseMillrace()");
        }

        return listenOptions;
    }
}
