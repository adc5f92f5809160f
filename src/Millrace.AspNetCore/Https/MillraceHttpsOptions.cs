using Microsoft.AspNetCore.Server.Kestrel.Https;
using Millrace.Tls;

namespace Millrace.AspNetCore;

/// <summary>
/// How <c>UseMillraceHttps</c> terminates TLS: all that <c>UseHttps</c> can be told, and what is Millrace's own. What only an
/// <see cref="System.Net.Security.SslStream"/> can do (<see cref="HttpsConnectionAdapterOptions.ServerCertificateSelector"/>,
/// <see cref="HttpsConnectionAdapterOptions.OnAuthenticate"/>, <see cref="HttpsConnectionAdapterOptions.TlsClientHelloBytesCallback"/>,
/// <see cref="ClientCertificateMode.DelayCertificate"/>, TLS 1.2 alone or older versions) leaves the address's TLS to Kestrel, with a
/// warning.
/// </summary>
public sealed class MillraceHttpsOptions : HttpsConnectionAdapterOptions
{
    /// <summary>
    /// Certificates by host, in place of <see cref="HttpsConnectionAdapterOptions.ServerCertificate"/> unless there are none: a client is
    /// shown the one that names its host (SNI), else the first. Those on disk (<see cref="CertificateFiles"/>, relative to the content
    /// root) are read anew when they have changed.
    /// </summary>
    public IList<ServerCertificate> Certificates { get; } = [];

    /// <summary>How often the files of <see cref="Certificates"/> are looked at. <see cref="TimeSpan.Zero"/>: never.</summary>
    /// <remarks>Defaults to a minute.</remarks>
    public TimeSpan CertificateCheckInterval { get; set; } = TimeSpan.FromMinutes(1);

    /// <summary>
    /// A file to which the secrets of every connection are appended, as Wireshark reads them. For debugging: whoever has it can read all
    /// traffic.
    /// </summary>
    public string? KeyLogFile { get; set; }
}
