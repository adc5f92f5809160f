using System.Net;
using System.Net.Sockets;
using System.Text;

namespace Millrace.Server.Admin;

/// <summary>
/// By which names the admin pages may be asked for. A page elsewhere can have its own name resolve to this machine (DNS rebinding), and
/// would then read what is shown here to whoever sits in front of the browser; an address cannot be rebound, nor can localhost.
/// </summary>
internal sealed class AllowedHosts(IReadOnlyList<string> names)
{
    private readonly byte[][] _names = [.. names.Select(Encoding.ASCII.GetBytes)];

    /// <param name="authority">Host and perhaps port; empty for a client that names none, which no browser does.</param>
    public bool Allows(ReadOnlySpan<byte> authority)
    {
        if (authority.IsEmpty || authority[0] == '[')
        {
            // What is in brackets is an address: the parser has seen to it.
            return true;
        }

        int colon = authority.LastIndexOf((byte)':');
        ReadOnlySpan<byte> host = colon < 0 ? authority : authority[..colon];
        host = host.Length > 1 && host[^1] == '.' ? host[..^1] : host;
        return IsLocalhost(host) || IsAddress(host) || IsNamed(host);
    }

    /// <summary>Names below it are this machine's too (RFC 6761, section 6.3).</summary>
    private static bool IsLocalhost(ReadOnlySpan<byte> host) =>
        Ascii.EqualsIgnoreCase(host, "localhost"u8)
        || (host.Length > 10 && Ascii.EqualsIgnoreCase(host[^10..], ".localhost"u8));

    /// <summary>Four numbers: browsers write every other form of an address so.</summary>
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
