using System.Collections.Concurrent;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Server.Kestrel.Https;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// Validates client certificates by Kestrel's rules: with the application's callback, or else by their chain. The handshake has proved that
/// the client has the key. Building chains is slow: any thread but a reactor's.
/// </summary>
internal sealed class ClientCertificateCheck(HttpsConnectionAdapterOptions options)
{
    /// <summary>Clients whose chains are cached; when there are more, the cache is cleared, and clients handshake in full again.</summary>
    public const int ChainsMax = 1024;

    /// <summary>id-kp-clientAuth (RFC 5280, section 4.2.1.12).</summary>
    private static readonly Oid ClientAuthentication = new("1.3.6.1.5.5.7.3.2");

    /// <summary>
    /// Intermediate certificates of accepted clients, by certificate hash: a client that resumes a session does not send them again.
    /// </summary>
    private readonly ConcurrentDictionary<string, X509Certificate2Collection> _chains = new(StringComparer.Ordinal);

    /// <summary>The number of cached clients.</summary>
    public int Remembered => _chains.Count;

    public bool Admits(ConnectionTls tls)
    {
        if (tls.ClientCertificate is not { } certificate)
        {
            return options.ClientCertificateMode != ClientCertificateMode.RequireCertificate;
        }

        X509Certificate2Collection sent = tls.GetClientChain();
        string hash = certificate.GetCertHashString(HashAlgorithmName.SHA256);
        bool isAdmitted = Admits(certificate, sent.Count == 0 ? _chains.GetValueOrDefault(hash, sent) : sent);
        if (isAdmitted && sent.Count > 0)
        {
            Remember(hash, sent);
        }

        return isAdmitted;
    }

    /// <summary>Caches a client's intermediate certificates.</summary>
    public void Remember(string hash, X509Certificate2Collection chain)
    {
        if (_chains.Count >= ChainsMax)
        {
            _chains.Clear();
        }

        _chains[hash] = chain;
    }

    private bool Admits(X509Certificate2 certificate, X509Certificate2Collection others)
    {
        using var chain = new X509Chain();
        X509ChainPolicy policy = chain.ChainPolicy;
        policy.RevocationMode = options.CheckCertificateRevocation ? X509RevocationMode.Online : X509RevocationMode.NoCheck;
        policy.RevocationFlag = X509RevocationFlag.ExcludeRoot;
        policy.ApplicationPolicy.Add(ClientAuthentication);
        policy.ExtraStore.AddRange(others);

        // An unknown client's certificate must not make this server fetch URLs that it contains.
        policy.DisableCertificateDownloads = true;
        SslPolicyErrors errors = chain.Build(certificate) ? SslPolicyErrors.None : SslPolicyErrors.RemoteCertificateChainErrors;
        return options.ClientCertificateValidation?.Invoke(certificate, chain, errors) ?? errors == SslPolicyErrors.None;
    }
}
