using Microsoft.AspNetCore.Server.Kestrel.Core;
using Millrace.AspNetCore;
using Millrace.AspNetCore.Https;
using Millrace.AspNetCore.Https.Acme;

namespace Microsoft.AspNetCore.Hosting;

/// <summary>Certificates that are obtained by ACME, for endpoints whose TLS Kestrel terminates.</summary>
public static class MillraceAcmeListenOptionsExtensions
{
    /// <summary>
    /// Like <c>UseHttps()</c>, with certificates that are obtained and renewed, by HTTP-01 on port 80: TLS-ALPN-01 needs
    /// <c>UseMillraceHttps(https => https.UseAcme())</c>. A certificate of <c>ConfigureHttpsDefaults</c> comes first; while one is missing
    /// the last is a self-signed one.
    /// </summary>
    /// <param name="listenOptions">The endpoint.</param>
    /// <param name="configure">Changes the options, which all endpoints share, after those that are registered.</param>
    /// <exception cref="InvalidOperationException"><c>AddMillraceAcme</c> was not called.</exception>
    public static ListenOptions UseAcmeHttps(this ListenOptions listenOptions, Action<MillraceAcmeOptions>? configure = null)
    {
        ArgumentNullException.ThrowIfNull(listenOptions);
        return listenOptions.UseHttps(options => AcmeHttps.Use(
            listenOptions, options, KestrelHttpsOptions.ListCertificates(options), configure ?? (static _ => { }), answersTlsAlpn: false));
    }
}
