using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.StaticFiles;

namespace Millrace.Server;

/// <summary>Parses a listen address: <c>8080</c>, <c>127.0.0.1:8080</c>, <c>[::1]:8080</c>, <c>unix:/run/x.sock</c>.</summary>
internal static class ListenAddress
{
    public const string Forms = "8080 (all interfaces), 127.0.0.1:8080, [::1]:8080 or unix:/run/x.sock";

    private const string UnixPrefix = "unix:";

    /// <summary>A longer unix socket path does not fit <c>sockaddr_un</c>.</summary>
    private const int UnixPathBytesMax = 107;

    public static bool TryParse(string text, [NotNullWhen(true)] out EndPoint? endPoint)
    {
        endPoint = null;
        if (text.StartsWith(UnixPrefix, StringComparison.Ordinal))
        {
            string path = text[UnixPrefix.Length..];
            bool fits = path.Length > 0 && System.Text.Encoding.UTF8.GetByteCount(path) <= UnixPathBytesMax;
            endPoint = fits ? new UnixDomainSocketEndPoint(path) : null;
            return fits;
        }

        int colon = text.LastIndexOf(':');
        if (!TryParsePort(text[(colon + 1)..], out ushort port))
        {
            return false;
        }

        if (colon < 0)
        {
            // The IPv6 any address accepts IPv4 too, if the machine supports IPv6.
            endPoint = new IPEndPoint(Socket.OSSupportsIPv6 ? IPAddress.IPv6Any : IPAddress.Any, port);
            return true;
        }

        string host = text[..colon];
        bool isBracketed = host is ['[', .., ']'];
        if (!IPAddress.TryParse(isBracketed ? host[1..^1] : host, out IPAddress? address)
            || isBracketed != (address.AddressFamily == AddressFamily.InterNetworkV6))
        {
            return false;
        }

        endPoint = new IPEndPoint(address, port);
        return true;
    }

    /// <summary>Offset of a file system path in the text; -1 for none, or for an abstract socket's name.</summary>
    public static int PathAt(string text) =>
        text.StartsWith(UnixPrefix, StringComparison.Ordinal) && text[UnixPrefix.Length..] is not ['@', ..] ? UnixPrefix.Length : -1;

    /// <summary>Throws <see cref="SiteException"/> for an invalid address.</summary>
    public static EndPoint Parse(string text) => TryParse(text, out EndPoint? endPoint)
        ? endPoint
        : throw new SiteException($"'{text}' is not a valid address: use {Forms}.");

    /// <summary>The address as a URL for a browser.</summary>
    public static string ToUrl(EndPoint endPoint, string scheme = "http") => endPoint switch
    {
        IPEndPoint ip when SocketEndPoint.IsAny(ip) =>
            string.Create(CultureInfo.InvariantCulture, $"{scheme}://localhost:{ip.Port}/ (all interfaces)"),
        IPEndPoint ip => $"{scheme}://{ip}/",
        _ => $"{UnixPrefix}{endPoint}",
    };

    private static bool TryParsePort(string text, out ushort port) =>
        ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out port);
}
