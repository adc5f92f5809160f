using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.Tls;

namespace Millrace.AspNetCore;

/// <summary>
/// Options of <c>UseMillraceHttps</c>: those of <c>UseHttps</c>, and Millrace's own. Options that need an
/// <see cref="System.Net.Security.SslStream"/> (<see cref="HttpsConnectionAdapterOptions.ServerCertificateSelector"/>,
/// <see cref="HttpsConnectionAdapterOptions.OnAuthenticate"/>, <see cref="HttpsConnectionAdapterOptions.TlsClientHelloBytesCallback"/>,
/// <see cref="ClientCertificateMode.DelayCertificate"/>, TLS 1.2 alone or older versions) make the endpoint fall back to Kestrel's TLS,
/// with a warning.
/// </summary>
public sealed class MillraceHttpsOptions : HttpsConnectionAdapterOptions
{
    /// <summary>
    /// Certificates by host; if there are any, they replace <see cref="HttpsConnectionAdapterOptions.ServerCertificate"/>. A client gets
    /// the certificate that matches its host (SNI), else the first. Certificates on disk (<see cref="CertificateFiles"/>, relative to the
    /// content root) are reloaded when their files change.
    /// </summary>
    public IList<ServerCertificate> Certificates { get; } = [];

    /// <summary>How often the files of <see cref="Certificates"/> are checked for changes. <see cref="TimeSpan.Zero"/>: never.</summary>
    /// <remarks>Defaults to a minute.</remarks>
    public TimeSpan CertificateCheckInterval { get; set; } = TimeSpan.FromMinutes(1);

    /// <summary>
    /// A file to which the TLS secrets of every connection are appended, in the format that Wireshark reads. For debugging: anyone who has
    /// the file can decrypt all traffic.
    /// </summary>
    public string? KeyLogFile { get; set; }

    /// <summary>The options of <see cref="UseAcme"/>; null without it.</summary>
    internal Action<MillraceAcmeOptions>? Acme { get; private set; }

    /// <summary>
    /// Serves certificates that are obtained by ACME and renewed, after those that are configured here. While one is missing the last is a
    /// self-signed one. The endpoint answers TLS-ALPN-01 on port 443, and all plain endpoints HTTP-01 on port 80.
    /// </summary>
    /// <param name="configure">Changes the options, which all endpoints share, after those that are registered.</param>
    public void UseAcme(Action<MillraceAcmeOptions>? configure = null) => Acme += configure ?? (static _ => { });
}
