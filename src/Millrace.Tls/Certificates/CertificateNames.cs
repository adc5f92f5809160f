using System.Net;
using System.Text;

namespace Millrace.Tls.Certificates;

/// <summary>
/// The hosts that one certificate covers, looked up without allocation: names, wildcards for one label, and addresses. Immutable; any
/// thread.
/// </summary>
internal sealed class CertificateNames
{
    private readonly byte[][] _hosts;
    private readonly byte[][] _parents;
    private readonly IPAddress[] _addresses;

    /// <param name="names">In lower case, possibly <c>*.example.org</c>.</param>
    /// <param name="addresses">IPv4 and IPv6.</param>
    public CertificateNames(IReadOnlyList<string> names, IReadOnlyList<IPAddress> addresses)
    {
        _addresses = [.. addresses];
        _hosts =
        [
            .. names.Where(static name => !IsWildcard(name)).Concat(addresses.Select(static address => address.ToString()))
                .Select(Encoding.Latin1.GetBytes),
        ];
        _parents = [.. names.Where(IsWildcard).Select(static name => Encoding.Latin1.GetBytes(name[1..]))];
        IsCovered = Covers;
    }

    /// <summary><see cref="Covers"/> as a delegate, created once.</summary>
    public Func<ReadOnlySpan<byte>, bool> IsCovered { get; }

    /// <summary>
    /// Whether a host is covered, by the rules of clients (RFC 6125, section 6.4): ignoring case and a final dot; a wildcard matches one
    /// label. An IPv6 address may be in brackets.
    /// </summary>
    public bool Covers(ReadOnlySpan<byte> host)
    {
        host = host is [(byte)'[', .., (byte)']'] ? host[1..^1] : host is [_, .., (byte)'.'] ? host[..^1] : host;
        foreach (byte[] name in _hosts)
        {
            if (name.Length == host.Length && Ascii.EqualsIgnoreCase(name, host))
            {
                return true;
            }
        }

        int dot = host.IndexOf((byte)'.');
        foreach (byte[] parent in _parents)
        {
            if (dot > 0 && parent.Length == host.Length - dot && Ascii.EqualsIgnoreCase(parent, host[dot..]))
            {
                return true;
            }
        }

        // An IPv6 address has several spellings; clients nearly always send the canonical one, which was compared above.
        return host.Contains((byte)':') && IPAddress.TryParse(host, out IPAddress? address) && _addresses.Contains(address);
    }

    private static bool IsWildcard(string name) => name.StartsWith("*.", StringComparison.Ordinal);
}
