using System.Collections.Concurrent;
using System.Net.Security;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace Millrace.AspNetCore.Https;

/// <summary>
/// Builds the chains of client certificates, and keeps the intermediate ones of admitted clients: a client that resumes a session does not
/// send them again. Any thread but a reactor's.
/// </summary>
internal sealed class ClientCertificateChains
{
    /// <summary>Clients whose chains are cached; when there are more, the cache is cleared, and clients handshake in full again.</summary>
    public const int ChainsMax = 1024;

    /// <summary>id-kp-clientAuth (RFC 5280, section 4.2.1.12).</summary>
    private static readonly Oid ClientAuthentication = new("1.3.6.1.5.5.7.3.2");

    /// <summary>By certificate hash.</summary>
    private readonly ConcurrentDictionary<string, X509Certificate2Collection> _chains = new(StringComparer.Ordinal);

    /// <summary>The number of cached clients.</summary>
    public int Remembered => _chains.Count;

    /// <summary>Builds the chain of a client's certificate, and has the caller decide.</summary>
    public bool Check(
        ConnectionTls tls, X509Certificate2 certificate, X509RevocationMode revocation, Func<X509Chain, SslPolicyErrors, bool> decide)
    {
        X509Certificate2Collection sent = tls.GetClientChain();
        string hash = certificate.GetCertHashString(HashAlgorithmName.SHA256);
        bool isAdmitted = Check(certificate, sent.Count == 0 ? _chains.GetValueOrDefault(hash, sent) : sent, revocation, decide);
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

    private static bool Check(
        X509Certificate2 certificate, X509Certificate2Collection others, X509RevocationMode revocation,
        Func<X509Chain, SslPolicyErrors, bool> decide)
    {
        using var chain = new X509Chain();
        X509ChainPolicy policy = chain.ChainPolicy;
        policy.RevocationMode = revocation;
        policy.RevocationFlag = X509RevocationFlag.ExcludeRoot;
        policy.ApplicationPolicy.Add(ClientAuthentication);
        policy.ExtraStore.AddRange(others);

        // An unknown client's certificate must not make this server fetch URLs that it contains.
        policy.DisableCertificateDownloads = true;
        return decide(chain, chain.Build(certificate) ? SslPolicyErrors.None : SslPolicyErrors.RemoteCertificateChainErrors);
    }
}
