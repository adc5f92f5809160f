using System.Net;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Millrace.Tls;

namespace Millrace.AspNetCore.Https.Acme;

/// <summary>
/// The certificates of an endpoint whose TLS Kestrel terminates: those that are configured, then those that are obtained, each with its
/// chain. Loaded with the first handshake, as most such endpoints of Millrace never have one. Any thread.
/// </summary>
internal sealed class HandshakeCertificates(
    EndPoint endPoint, IReadOnlyList<ServerCertificate> configured, ObtainedCertificates obtained, AcmeLog log)
{
    private readonly Lock _loading = new();
    private volatile Choice[]? _choices;

    /// <summary>The first certificate for a host, or else the first.</summary>
    /// <exception cref="TlsException">None can be loaded.</exception>
    public SslStreamCertificateContext Select(string? host)
    {
        Choice[] choices = _choices ?? Load();
        Choice? fitting = string.IsNullOrEmpty(host)
            ? null
            : Array.Find(choices, choice => choice.Certificate.MatchesHostname(host));
        return (fitting ?? choices[0]).Context;
    }

    private Choice[] Load()
    {
        lock (_loading)
        {
            if (_choices is null)
            {
                // Endpoints end with the application, and so does this.
                _ = obtained.Serve(Replace);
            }

            return _choices!;
        }
    }

    private void Replace(IReadOnlyList<ServerCertificate> served)
    {
        try
        {
            _choices = [.. configured.Concat(served).Select(CertificatePaths.Load).Select(static loaded => new Choice(loaded))];
        }
        catch (Exception refusal) when (refusal is TlsException or CryptographicException && _choices is not null)
        {
            log.ObtainedUnusable(endPoint, refusal.Message);
        }
    }

    private sealed class Choice(LoadedCertificate loaded)
    {
        public X509Certificate2 Certificate => loaded.Certificate;

        /// <summary>With its chain as it is: nothing is downloaded.</summary>
        public SslStreamCertificateContext Context { get; } =
            SslStreamCertificateContext.Create(loaded.Certificate, [.. loaded.Chain ?? []], offline: true);
    }
}
