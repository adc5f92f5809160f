using System.Diagnostics.CodeAnalysis;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace Millrace.Acme;

/// <summary>
/// The challenges that are open now, for those who answer the authority's validations. Any thread; reads take no lock and allocate nothing.
/// While nothing is ordered it is empty, and a look-up is a null check.
/// </summary>
public sealed class ChallengeTable
{
    /// <summary>Authorities make tokens of some 43 characters; nobody asks for a longer one that is open.</summary>
    private const int TokenMax = 256;
    private readonly Lock _writing = new();

    // Copied by each write.
    private Dictionary<string, byte[]>? _http;
    private Dictionary<string, X509Certificate2>? _tls;

    /// <summary>The body of <c>/.well-known/acme-challenge/TOKEN</c> (RFC 8555, section 8.3).</summary>
    /// <param name="token">The last segment of the path.</param>
    /// <param name="keyAuthorization">In ASCII.</param>
    public bool TryGetKeyAuthorization(ReadOnlySpan<byte> token, out ReadOnlyMemory<byte> keyAuthorization)
    {
        byte[]? found = null;
        if (Volatile.Read(ref _http) is { } open && token.Length <= TokenMax)
        {
            Span<char> characters = stackalloc char[TokenMax];
            int length = Encoding.Latin1.GetChars(token, characters);
            open.GetAlternateLookup<ReadOnlySpan<char>>().TryGetValue(characters[..length], out found);
        }

        keyAuthorization = found;
        return found is not null;
    }

    /// <summary>The certificate for a handshake with the protocol <c>acme-tls/1</c> (RFC 8737).</summary>
    /// <param name="serverName">
    /// The client's SNI in lower case; for an address, its name in <c>in-addr.arpa</c> or <c>ip6.arpa</c> (RFC 8738).
    /// </param>
    /// <param name="certificate">With its private key, which can be exported. It stays valid while the challenge is open.</param>
    public bool TryGetTlsAlpn(string serverName, [NotNullWhen(true)] out X509Certificate2? certificate)
    {
        certificate = null;
        return Volatile.Read(ref _tls) is { } open && open.TryGetValue(serverName, out certificate);
    }

    internal void AddHttp(string token, string keyAuthorization) =>
        Change(ref _http, open => open[token] = Encoding.ASCII.GetBytes(keyAuthorization));

    internal void AddTlsAlpn(string serverName, X509Certificate2 certificate) => Change(ref _tls, open => open[serverName] = certificate);

    internal void RemoveHttp(string token) => Change(ref _http, open => open.Remove(token));

    internal void RemoveTlsAlpn(string serverName) => Change(ref _tls, open => open.Remove(serverName));

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
