using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using Millrace.Acme.Challenges;

namespace Millrace.Acme;

/// <summary>
/// The challenges that are open now, for those who answer the authority's validations: of this process in memory, and, where another
/// process obtains the certificates, of that one in the folder that they share. Any thread; nothing blocks. A challenge of this process is
/// found at once, without a lock; while it orders nothing the look-up is a null check.
/// </summary>
public sealed class ChallengeTable
{
    private readonly SharedChallenges? _shared;
    private readonly Lock _writing = new();

    // Copied by each write.
    private Dictionary<string, byte[]>? _http;
    private Dictionary<string, X509Certificate2>? _tls;

    internal ChallengeTable(SharedChallenges? shared = null) => _shared = shared;

    /// <summary>The body of <c>/.well-known/acme-challenge/TOKEN</c> (RFC 8555, section 8.3), in ASCII; empty if there is none.</summary>
    /// <param name="token">The last segment of the path.</param>
    public ValueTask<ReadOnlyMemory<byte>> FindKeyAuthorizationAsync(string token) =>
        TryGetKeyAuthorization(token, out byte[]? found) ? new(found)
        : _shared is null ? default
        : _shared.FindKeyAuthorizationAsync(token);

    /// <summary>The certificate for a handshake with the protocol <c>acme-tls/1</c> (RFC 8737); null if there is none.</summary>
    /// <param name="serverName">
    /// The client's SNI in lower case; for an address, its name in <c>in-addr.arpa</c> or <c>ip6.arpa</c> (RFC 8738).
    /// </param>
    /// <returns>With its private key, which can be exported. It stays valid while the challenge is open.</returns>
    public ValueTask<X509Certificate2?> FindCertificateAsync(string serverName) =>
        TryGetCertificate(serverName, out X509Certificate2? found) ? new(found)
        : _shared is null ? default
        : _shared.FindCertificateAsync(serverName);

    internal bool TryGetKeyAuthorization(string token, [NotNullWhen(true)] out byte[]? keyAuthorization)
    {
        keyAuthorization = null;
        return Volatile.Read(ref _http) is { } open && open.TryGetValue(token, out keyAuthorization);
    }

    internal bool TryGetCertificate(string serverName, [NotNullWhen(true)] out X509Certificate2? certificate)
    {
        certificate = null;
        return Volatile.Read(ref _tls) is { } open && open.TryGetValue(serverName, out certificate);
    }

    internal void AddHttp(string token, string keyAuthorization)
    {
        Change(ref _http, open => open[token] = Encoding.ASCII.GetBytes(keyAuthorization));
        _shared?.AddHttp(token, keyAuthorization);
    }

    internal void AddTlsAlpn(string serverName, X509Certificate2 certificate)
    {
        Change(ref _tls, open => open[serverName] = certificate);
        _shared?.AddTlsAlpn(serverName, certificate);
    }

    internal void RemoveHttp(string token)
    {
        Change(ref _http, open => open.Remove(token));
        _shared?.RemoveHttp(token);
    }

    internal void RemoveTlsAlpn(string serverName)
    {
        Change(ref _tls, open => open.Remove(serverName));
        _shared?.RemoveTlsAlpn(serverName);
    }

    private void Change<T>(ref Dictionary<string, T>? all, Action<Dictionary<string, T>> change)
    {
        lock (_writing)
        {
            Dictionary<string, T> copy = all is null ? new(StringComparer.Ordinal) : new(all, StringComparer.Ordinal);
            change(copy);
            Volatile.Write(ref all, copy.Count > 0 ? copy : null);
        }
    }
}
