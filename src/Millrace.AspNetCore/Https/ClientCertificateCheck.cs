using System.Net.Security;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Server.Kestrel.Https;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// Validates client certificates by Kestrel's rules: with the application's callback, or else by their chain. The handshake has proved that
/// the client has the key. Building chains is slow: any thread but a reactor's.
/// </summary>
internal sealed class ClientCertificateCheck(HttpsConnectionAdapterOptions options)
{
    private readonly ClientCertificateChains _chains = new();

    /// <summary>The clients whose chains are cached.</summary>
    public ClientCertificateChains Chains => _chains;

    /// <summary>Null where clients are not asked for certificates.</summary>
    public static ClientCertificateCheck? Of(HttpsConnectionAdapterOptions options) =>
        options.ClientCertificateMode == ClientCertificateMode.NoCertificate ? null : new ClientCertificateCheck(options);

    public bool Admits(ConnectionTls tls)
    {
        if (tls.ClientCertificate is not { } certificate)
        {
            return options.ClientCertificateMode != ClientCertificateMode.RequireCertificate;
        }

        return _chains.Check(
            tls,
            certificate,
            options.CheckCertificateRevocation ? X509RevocationMode.Online : X509RevocationMode.NoCheck,
            (chain, errors) => options.ClientCertificateValidation?.Invoke(certificate, chain, errors) ?? errors == SslPolicyErrors.None);
    }
}
