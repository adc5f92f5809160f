using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Millrace.AspNetCore;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Transport;
using Millrace.Tls;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>
/// HTTPS by Millrace: the transport itself encrypts and decrypts, and Kestrel finds a connection whose TLS is done. So does all connection
/// middleware of the address, wherever it is registered: before <c>UseMillraceHttps</c> too it sees what is decrypted, and not what is on
/// the wire as before <c>UseHttps</c>; a warning says so, once, where it has the bytes pass through it. A preface of a proxy, say, that
/// middleware would read before TLS cannot be read there: such an address wants <c>UseHttps</c>.
/// </summary>
public static class MillraceListenOptionsExtensions
{
    /// <summary>
    /// As <c>UseHttps()</c>: with the certificate of the configuration, or else the one for development. Call it as you would call that,
    /// but for middleware that is to see the wire: none stands in front of it (<see cref="MillraceListenOptionsExtensions"/>). Where
    /// Millrace does not serve the address, or cannot do what is asked for, this is <c>UseHttps</c>.
    /// </summary>
    /// <exception cref="InvalidOperationException">There is no certificate.</exception>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions) => listenOptions.UseMillraceHttps(static _ => { });

    /// <summary>With a certificate that has its private key.</summary>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions, X509Certificate2 serverCertificate)
    {
        ArgumentNullException.ThrowIfNull(serverCertificate);
        return listenOptions.UseMillraceHttps(https => https.ServerCertificate = serverCertificate);
    }

    /// <summary>With a certificate that has its private key, and options.</summary>
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
    /// With a file, relative to the content root: PKCS #12 (.pfx, .p12), or PEM with the certificate, those that lead to its root, and the
    /// key; of the latter kind it is read anew when it has changed.
    /// </summary>
    /// <exception cref="TlsException">The file is not what it must be; the message says why.</exception>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions, string fileName, string? password = null) =>
        listenOptions.UseMillraceHttps(fileName, password, static _ => { });

    /// <summary>With a file, as above, and options.</summary>
    /// <exception cref="TlsException">The file is not what it must be; the message says why.</exception>
    public static ListenOptions UseMillraceHttps(
        this ListenOptions listenOptions, string fileName, string? password, Action<MillraceHttpsOptions> configureOptions)
    {
        ArgumentNullException.ThrowIfNull(listenOptions);
        ArgumentNullException.ThrowIfNull(fileName);
        ArgumentNullException.ThrowIfNull(configureOptions);
        return listenOptions.UseMillraceHttps(https =>
        {
            https.Certificates.Add(CertificatePlaces.Open(listenOptions, fileName, password));
            configureOptions(https);
        });
    }

    /// <summary>With certificates by host (SNI); the first is shown where none fits, and to clients that name no host.</summary>
    /// <exception cref="TlsException">A file is not what it must be; the message says why.</exception>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions, params ServerCertificate[] certificates)
    {
        ArgumentNullException.ThrowIfNull(certificates);
        return listenOptions.UseMillraceHttps(https => Array.ForEach(certificates, https.Certificates.Add));
    }

    /// <summary>With options, which begin as <c>ConfigureHttpsDefaults</c> has them.</summary>
    /// <exception cref="InvalidOperationException">There is no certificate.</exception>
    public static ListenOptions UseMillraceHttps(this ListenOptions listenOptions, Action<MillraceHttpsOptions> configureOptions)
    {
        ArgumentNullException.ThrowIfNull(listenOptions);
        ArgumentNullException.ThrowIfNull(configureOptions);
        IServiceProvider services = listenOptions.ApplicationServices;
        var log = new TransportLog(services.GetRequiredService<ILoggerFactory>().CreateLogger(TransportLog.Category));
        var own = new MillraceHttpsOptions();
        HttpsEndPoints? endPoints = services.GetService<HttpsEndPoints>();
        var endPoint = new HttpsEndPoint(listenOptions, own);
        listenOptions.Use(next =>
        {
            endPoints?.NoteBuilt(endPoint);
            return new DecryptedConnections(next, own, log).OnConnectionAsync;
        });

        // Kestrel lets connections pass that have TLS already, and knows by this call that the address is one of https.
        HttpsConnectionAdapterOptions kestrels = own;
        listenOptions.UseHttps(options =>
        {
            kestrels = options;
            KestrelHttpsOptions.Copy(options, own);
            configureOptions(own);
            CertificatePlaces.Find(listenOptions, own.Certificates);
            KestrelHttpsOptions.Copy(own, options);
            KestrelHttpsOptions.SetCertificates(options, own.Certificates);
        });

        // That of the configuration, or the one for development.
        own.ServerCertificate ??= kestrels.ServerCertificate;
        if (endPoints is null)
        {
            log.TlsLeft(listenOptions.EndPoint, "Kestrel does not serve by Millrace; call UseMillrace()");
        }

        return listenOptions;
    }
}
