using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Millrace.Tls;

namespace Millrace.AspNetCore.Https.Acme;

/// <summary>
/// Kestrel's TLS with certificates that are obtained. Its options take no chain for a certificate that is chosen by host, so a handshake
/// callback with the same options comes before their own middleware, which passes on connections that have TLS. Any thread.
/// </summary>
internal sealed class AcmeHttps
{
    private readonly HttpsConnectionAdapterOptions _options;
    private readonly HandshakeCertificates _certificates;
    private readonly Func<ConnectionContext?, string?, X509Certificate2?>? _selector;

    private AcmeHttps(HttpsConnectionAdapterOptions options, HandshakeCertificates certificates)
    {
        _options = options;
        _certificates = certificates;
        _selector = options.ServerCertificateSelector;
    }

    /// <summary>Called within <c>UseHttps</c>, when its options are configured.</summary>
    /// <param name="listenOptions">The endpoint.</param>
    /// <param name="options">Its options.</param>
    /// <param name="configured">The certificates that come first.</param>
    /// <param name="configure">The options of what is obtained.</param>
    /// <param name="answersTlsAlpn">Whether the endpoint answers TLS-ALPN-01, which Kestrel's TLS cannot.</param>
    /// <exception cref="InvalidOperationException">The services are not registered, or an option is not supported.</exception>
    public static void Use(
        ListenOptions listenOptions,
        HttpsConnectionAdapterOptions options,
        IReadOnlyList<ServerCertificate> configured,
        Action<MillraceAcmeOptions> configure,
        bool answersTlsAlpn)
    {
        if (options.TlsClientHelloBytesCallback is not null)
        {
            throw new InvalidOperationException(
                $"{nameof(options.TlsClientHelloBytesCallback)} is not supported where certificates are obtained.");
        }

        IServiceProvider services = listenOptions.ApplicationServices;
        ObtainedCertificates obtained = ObtainedCertificates.Of(services);
        obtained.Configure(configure, answersTlsAlpn);
        var certificates = new HandshakeCertificates(
            listenOptions.EndPoint, configured, obtained, AcmeLog.Of(services.GetRequiredService<ILoggerFactory>()));
        var https = new AcmeHttps(options, certificates);
        listenOptions.Use(next =>
        {
            // Options that cannot be used fail the start.
            obtained.Open();
            return next;
        });
        listenOptions.UseHttps(new TlsHandshakeCallbackOptions
        {
            OnConnection = context => new(https.Authenticate(context)),
            HandshakeTimeout = options.HandshakeTimeout,
        });

        // UseHttps requires one, and HTTP/3 uses it.
        options.ServerCertificateSelector =
            (connection, host) => https.Select(connection, host) ?? certificates.Select(host).TargetCertificate;
    }

    private SslServerAuthenticationOptions Authenticate(TlsHandshakeCallbackContext context)
    {
        ClientCertificateMode mode = _options.ClientCertificateMode;
        context.AllowDelayedClientCertificateNegotation = mode == ClientCertificateMode.DelayCertificate;
        string host = context.ClientHelloInfo.ServerName;
        X509Certificate2? selected = Select(context.Connection, host);
        var handshake = new SslServerAuthenticationOptions
        {
            ServerCertificate = selected,
            ServerCertificateContext = selected is null ? _certificates.Select(host) : null,
            EnabledSslProtocols = _options.SslProtocols,
            ClientCertificateRequired = mode is ClientCertificateMode.AllowCertificate or ClientCertificateMode.RequireCertificate,
            RemoteCertificateValidationCallback = mode == ClientCertificateMode.NoCertificate ? null : IsClientAdmitted,
            CertificateRevocationCheckMode =
                _options.CheckCertificateRevocation ? X509RevocationMode.Online : X509RevocationMode.NoCheck,
        };
        _options.OnAuthenticate?.Invoke(context.Connection, handshake);
        return handshake;
    }

    private X509Certificate2? Select(ConnectionContext? connection, string? host) => _selector?.Invoke(connection, host);

    /// <summary>By Kestrel's rules.</summary>
    private bool IsClientAdmitted(object sender, X509Certificate? certificate, X509Chain? chain, SslPolicyErrors errors) =>
        certificate is not X509Certificate2 sent
            ? _options.ClientCertificateMode != ClientCertificateMode.RequireCertificate
            : _options.ClientCertificateValidation?.Invoke(sent, chain, errors) ?? errors == SslPolicyErrors.None;
}
