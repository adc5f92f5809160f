using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Admin;

/// <summary>
/// The host names under which the admin pages respond. A foreign web page can make its own name resolve to this machine (DNS rebinding),
/// and would then read the pages in a user's browser; IP addresses and localhost cannot be rebound.
/// </summary>
internal sealed class AllowedHosts(IReadOnlyList<string> names)
{
    private readonly byte[][] _names = [.. names.Select(Encoding.ASCII.GetBytes)];

    /// <param name="authority">Host and optional port; empty if the client sends no host, which no browser does.</param>
    public bool Allows(ReadOnlySpan<byte> authority)
    {
        if (authority.IsEmpty || authority[0] == '[')
        {
            // The parser has checked that brackets contain an address.
            return true;
        }

        int colon = authority.LastIndexOf((byte)':');
        ReadOnlySpan<byte> host = colon < 0 ? authority : authority[..colon];
        host = host.Length > 1 && host[^1] == '.' ? host[..^1] : host;
        return IsLocalhost(host) || IsAddress(host) || IsNamed(host);
    }

    /// <summary>Names below localhost are this machine too (RFC 6761, section 6.3).</summary>
    private static bool IsLocalhost(ReadOnlySpan<byte> host) =>
        Ascii.EqualsIgnoreCase(host, "localhost"u8)
        || (host.Length > 10 && Ascii.EqualsIgnoreCase(host[^10..], ".localhost"u8));

    /// <summary>Dotted decimal only: browsers convert every other form of an address to it.</summary>
    private static bool IsAddress(ReadOnlySpan<byte> host) =>
        host.Count((byte)'.') == 3
        && IPAddress.TryParse(host, out IPAddress? address)
        && address.AddressFamily == AddressFamily.InterNetwork;

    private bool IsNamed(ReadOnlySpan<byte> host)
    {
        foreach (byte[] name in _names)
        {
            if (Ascii.EqualsIgnoreCase(name, host))
            {
                return true;
            }
        }

        return false;
    }
}
