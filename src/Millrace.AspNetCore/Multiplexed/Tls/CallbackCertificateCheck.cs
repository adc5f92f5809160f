using System.Net.Security;
using Millrace.AspNetCore.Https;

namespace Millrace.AspNetCore.Multiplexed.Tls;

/// <summary>
/// Validates client certificates as SslStream does with the same options: the callback decides, or the chain without one. Building chains
/// is slow: any thread but a reactor's.
/// </summary>
internal sealed class CallbackCertificateCheck
{
    private readonly ClientCertificateChains _chains = new();

    public bool Admits(ConnectionTls tls, SslServerAuthenticationOptions options)
    {
        if (tls.ClientCertificate is not { } certificate)
        {
            return options.RemoteCertificateValidationCallback?.Invoke(this, null, null, SslPolicyErrors.RemoteCertificateNotAvailable)
                ?? false;
        }

        return _chains.Check(
            tls,
            certificate,
            options.CertificateRevocationCheckMode,
            (chain, errors) => options.RemoteCertificateValidationCallback?.Invoke(this, certificate, chain, errors)
                ?? errors == SslPolicyErrors.None);
    }
}
