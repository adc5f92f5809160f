using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.Tls;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// Converts options from and to Kestrel's: its defaults for Millrace's options, and Millrace's for endpoints whose TLS Kestrel terminates
/// after all.
/// </summary>
internal static class KestrelHttpsOptions
{
    public static void Copy(HttpsConnectionAdapterOptions from, HttpsConnectionAdapterOptions to)
    {
        to.ServerCertificate = from.ServerCertificate;
        to.ServerCertificateChain = from.ServerCertificateChain;
        to.ServerCertificateSelector = from.ServerCertificateSelector;
        to.ClientCertificateMode = from.ClientCertificateMode;
        to.ClientCertificateValidation = from.ClientCertificateValidation;
        to.SslProtocols = from.SslProtocols;
        to.CheckCertificateRevocation = from.CheckCertificateRevocation;
        to.OnAuthenticate = from.OnAuthenticate;
        to.TlsClientHelloBytesCallback = from.TlsClientHelloBytesCallback;
        to.HandshakeTimeout = from.HandshakeTimeout;
    }

    /// <summary>The certificates that are configured.</summary>
    public static IReadOnlyList<ServerCertificate> ListCertificates(HttpsConnectionAdapterOptions options) => options switch
    {
        MillraceHttpsOptions { Certificates: { Count: > 0 } certificates } => [.. certificates],
        { ServerCertificate: { } certificate } =>
            [new LoadedCertificate(certificate, options.ServerCertificateChain is { } chain ? [.. chain] : null)],
        _ => [],
    };

    /// <summary>
    /// Sets certificates by host, with the first as the default. With more than one, Kestrel sends no intermediate certificates.
    /// </summary>
    public static void SetCertificates(HttpsConnectionAdapterOptions options, IEnumerable<ServerCertificate> certificates)
    {
        LoadedCertificate[] all = [.. certificates.Select(CertificatePaths.Load)];
        if (all.Length == 0)
        {
            return;
        }

        options.ServerCertificate = all[0].Certificate;
        options.ServerCertificateChain = [.. all[0].Chain ?? []];
        if (all.Length > 1)
        {
            options.ServerCertificateSelector ??= (_, host) => Select(all, host);
        }
    }

    private static X509Certificate2 Select(LoadedCertificate[] certificates, string? host)
    {
        LoadedCertificate? fitting = string.IsNullOrEmpty(host)
            ? null
            : certificates.FirstOrDefault(one => one.Certificate.MatchesHostname(host));
        return (fitting ?? certificates[0]).Certificate;
    }
}
