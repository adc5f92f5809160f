using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using Millrace.Engine.Listening;
using Millrace.StaticFiles;

namespace Millrace.Server;

/// <summary>
/// Parses a listen address: <c>8080</c>, <c>:8080</c>, <c>localhost:8080</c>, <c>127.0.0.1:8080</c>, <c>[::1]:8080</c>,
/// <c>unix:/run/x.sock</c>.
/// </summary>
internal static class ListenAddress
{
    public const string Forms = "8080 (all interfaces), localhost:8080, 127.0.0.1:8080, [::1]:8080 or unix:/run/x.sock";

    private const string UnixPrefix = "unix:";

    private const string Url = "it is a URL";

    /// <summary>A longer unix socket path does not fit <c>sockaddr_un</c>.</summary>
    private const int UnixPathBytesMax = 107;

    public static bool TryParse(string text, [NotNullWhen(true)] out EndPoint? endPoint) => TryParse(text, out endPoint, out _);

    /// <summary>Offset of a file system path in the text; -1 for none, or for an abstract socket's name.</summary>
    public static int PathAt(string text) =>
        text.StartsWith(UnixPrefix, StringComparison.Ordinal) && text[UnixPrefix.Length..] is not ['@', ..] ? UnixPrefix.Length : -1;

    /// <summary>Throws <see cref="SiteException"/> for an invalid address.</summary>
    public static EndPoint Parse(string text) => TryParse(text, out EndPoint? endPoint, out string problem)
        ? endPoint
        : throw new SiteException($"'{text}' is not a valid address: {problem}.", $"Use {Forms}.");

    /// <summary>
    /// Parses a complete IP address, as addresses are printed. The runtime's parser also takes <c>127.1</c>, <c>1.2.3</c> and <c>0x7f.1</c>
    /// for addresses, and leading zeros for octal digits.
    /// </summary>
    public static bool TryParseIp(string text, [NotNullWhen(true)] out IPAddress? address) =>
        IPAddress.TryParse(text, out address) && (address.AddressFamily != AddressFamily.InterNetwork || address.ToString() == text);

    public static string ToUrl(EndPoint endPoint, string scheme = "http") => endPoint switch
    {
        IPEndPoint ip when SocketEndPoint.IsAny(ip) =>
            string.Create(CultureInfo.InvariantCulture, $"{scheme}://localhost:{ip.Port}/ (all interfaces)"),
        IPEndPoint ip => $"{scheme}://{ip}/",
        _ => $"{UnixPrefix}{endPoint}",
    };

    public static bool TryParsePort(string text, out ushort port) =>
        ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out port);

    private static string DescribeHost(string host) =>
        host == "*" ? "for all interfaces, write the port alone"
        : host.Trim('[', ']').Contains(':', StringComparison.Ordinal) || host.Count(static letter => letter == '.') == 3
            && host.All(static letter => char.IsAsciiDigit(letter) || letter == '.')
            ? $"'{host}' is not a valid IP address"
        : $"'{host}' is not a complete IP address, and names other than localhost are not looked up";

    private static bool IsUrl(string text) => text.Contains("://", StringComparison.Ordinal);

    /// <param name="text">The address.</param>
    /// <param name="endPoint">The result.</param>
    /// <param name="problem">A clause with the reason, if it is not valid.</param>
    private static bool TryParse(string text, [NotNullWhen(true)] out EndPoint? endPoint, out string problem)
    {
        endPoint = null;
        if (text.StartsWith(UnixPrefix, StringComparison.Ordinal))
        {
            string path = text[UnixPrefix.Length..];
            problem = path.Length == 0 ? "the path is missing"
                : System.Text.Encoding.UTF8.GetByteCount(path) > UnixPathBytesMax ? $"its path is longer than {UnixPathBytesMax} bytes"
                : "";
            endPoint = problem.Length == 0 ? new UnixDomainSocketEndPoint(path) : null;
            return endPoint is not null;
        }

        int colon = text.LastIndexOf(':');
        string host = text[..Math.Max(0, colon)];
        bool isBracketed = host is ['[', .., ']'];
        problem = "";
        if (text is not ['[', ..] && TryParseIp(text, out IPAddress? bare) && bare.AddressFamily == AddressFamily.InterNetworkV6)
        {
            problem = "an IPv6 address needs brackets";
        }
        else if (!TryParsePort(text[(colon + 1)..], out ushort port))
        {
            problem = TryParseIp(text, out _) ? "its port is missing"
                : IsUrl(text) ? Url
                : colon < 0 ? $"it is neither a port from 0 to {ushort.MaxValue} nor an address with a port"
                : $"its port must be a number from 0 to {ushort.MaxValue}";
        }
        else if (host.Length == 0)
        {
            // The IPv6 any address accepts IPv4 too, if the machine supports IPv6.
            endPoint = new IPEndPoint(Socket.OSSupportsIPv6 ? IPAddress.IPv6Any : IPAddress.Any, port);
        }
        else if (host.Equals("localhost", StringComparison.OrdinalIgnoreCase))
        {
            endPoint = new IPEndPoint(IPAddress.Loopback, port);
        }
        else if (!TryParseIp(isBracketed ? host[1..^1] : host, out IPAddress? address))
        {
            problem = IsUrl(text) ? Url : DescribeHost(host);
        }
        else if (isBracketed != (address.AddressFamily == AddressFamily.InterNetworkV6))
        {
            problem = isBracketed ? "brackets are for IPv6" : "an IPv6 address needs brackets";
        }
        else
        {
            endPoint = new IPEndPoint(address, port);
        }

        return endPoint is not null;
    }
}
