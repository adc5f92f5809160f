using System.Collections.Immutable;
using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace Millrace.Acme;

/// <summary>
/// The challenges that are open now, for those who answer the authority's validations. Any thread; reads take no lock. While nothing is
/// ordered it is empty, and a look-up is a null check.
/// </summary>
public sealed class ChallengeTable
{
    private readonly Lock _writing = new();
    private ImmutableDictionary<string, byte[]>? _http;
    private ImmutableDictionary<string, X509Certificate2>? _tls;

    /// <summary>The body of <c>/.well-known/acme-challenge/TOKEN</c> (RFC 8555, section 8.3).</summary>
    /// <param name="token">The last segment of the path.</param>
    /// <param name="keyAuthorization">In ASCII.</param>
    public bool TryGetKeyAuthorization(ReadOnlySpan<byte> token, out ReadOnlyMemory<byte> keyAuthorization)
    {
        byte[]? found = null;
        if (Volatile.Read(ref _http) is { } open)
        {
            open.TryGetValue(Encoding.Latin1.GetString(token), out found);
        }

        keyAuthorization = found;
        return found is not null;
    }

    /// <summary>The certificate for a handshake with the protocol <c>acme-tls/1</c> (RFC 8737).</summary>
    /// <param name="serverName">The client's SNI in lower case; for an address, its name in <c>in-addr.arpa</c> or <c>ip6.arpa</c> (RFC 8738).</param>
    /// <param name="certificate">With its private key, which can be exported. It stays valid while the challenge is open.</param>
    public bool TryGetTlsAlpn(string serverName, [NotNullWhen(true)] out X509Certificate2? certificate)
    {
        certificate = null;
        return Volatile.Read(ref _tls) is { } open && open.TryGetValue(serverName, out certificate);
    }

    internal void AddHttp(string token, string keyAuthorization)
    {
        lock (_writing)
        {
            Volatile.Write(ref _http, (_http ?? ImmutableDictionary<string, byte[]>.Empty)
                .SetItem(token, Encoding.ASCII.GetBytes(keyAuthorization)));
        }
    }

    internal void AddTlsAlpn(string serverName, X509Certificate2 certificate)
    {
        lock (_writing)
        {
            Volatile.Write(ref _tls, (_tls ?? ImmutableDictionary<string, X509Certificate2>.Empty).SetItem(serverName, certificate));
        }
    }

    internal void RemoveHttp(string token)
    {
        lock (_writing)
        {
            Volatile.Write(ref _http, Without(_http, token));
        }
    }

    internal void RemoveTlsAlpn(string serverName)
    {
        lock (_writing)
        {
            Volatile.Write(ref _tls, Without(_tls, serverName));
        }
    }

    private static ImmutableDictionary<string, T>? Without<T>(ImmutableDictionary<string, T>? all, string key) =>
        all?.Remove(key) is { IsEmpty: false } rest ? rest : null;
}
