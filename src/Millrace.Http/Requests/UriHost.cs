using System.Net;

namespace Millrace.Http;

/// <summary>
/// Validates <c>uri-host [ ":" port ]</c>, the value of Host and the authority of a target (RFC 9110 section 7.2, RFC 3986 section 3.2.2).
/// A name must also be possible in DNS (RFC 1035 section 2.3.4), and a port have 16 bits.
/// </summary>
internal static class UriHost
{
    private const int LabelBytesMax = 63;

    /// <summary>RFC 1035's 255 octets, without the length of the first label and the empty label of the root.</summary>
    private const int NameBytesMax = 253;

    private const int PortMax = ushort.MaxValue;

    /// <summary>
    /// Whether this is a host with or without a port. Both may be empty: a client without an authority sends an empty Host.
    /// </summary>
    public static bool IsValidHostField(ReadOnlySpan<byte> text)
    {
        int host = HostBytes(text);
        return host >= 0 && IsPort(text[host..]);
    }

    /// <summary>
    /// Whether this is the authority of an http URI, whose host must not be empty (RFC 9110 section 4.2.1). Userinfo is
    /// refused.
    /// </summary>
    public static bool IsValidAuthority(ReadOnlySpan<byte> text) => HostBytes(text) > 0 && IsValidHostField(text);

    /// <summary>Whether this is a valid target of CONNECT: a host and a port that is not omitted (RFC 9112 section 3.2.3).</summary>
    public static bool IsValidHostAndPort(ReadOnlySpan<byte> text) => IsValidAuthority(text) && HostBytes(text) + 1 < text.Length;

    /// <summary>The length of the host at the start of the text; -1 if there is none.</summary>
    private static int HostBytes(ReadOnlySpan<byte> text)
    {
        if (!text.IsEmpty && text[0] == '[')
        {
            int close = text.IndexOf((byte)']');
            return close > 0 && IsIpLiteral(text[1..close]) ? close + 1 : -1;
        }

        int end = text.IndexOfAnyExcept(ByteClasses.RegName);
        while (end >= 0 && text[end] == '%')
        {
            if (end + 2 >= text.Length || text.Slice(end + 1, 2).ContainsAnyExcept(ByteClasses.HexDigits))
            {
                return -1;
            }

            int more = text[(end + 3)..].IndexOfAnyExcept(ByteClasses.RegName);
            end = more < 0 ? -1 : end + 3 + more;
        }

        int bytes = end < 0 ? text.Length : end;
        return IsName(text[..bytes]) ? bytes : -1;
    }

    /// <summary>Nonempty labels, except that of the root after a final dot; or nothing at all.</summary>
    private static bool IsName(ReadOnlySpan<byte> text)
    {
        ReadOnlySpan<byte> rest = text.Length > 1 && text[^1] == '.' ? text[..^1] : text;
        if (rest.Length > NameBytesMax)
        {
            return false;
        }

        for (int dot; (dot = rest.IndexOf((byte)'.')) >= 0; rest = rest[(dot + 1)..])
        {
            if (dot is 0 or > LabelBytesMax || dot + 1 == rest.Length)
            {
                return false;
            }
        }

        return rest.Length <= LabelBytesMax;
    }

    private static bool IsPort(ReadOnlySpan<byte> text) =>
        text.IsEmpty || (text[0] == ':' && (text.Length == 1 || (Digits.TryParse(text[1..], out long port) && port <= PortMax)));

    private static bool IsIpLiteral(ReadOnlySpan<byte> text)
        => !text.IsEmpty && text[0] is (byte)'v' or (byte)'V'
            ? IsFutureAddress(text[1..])
            : text.Contains((byte)':') && !text.ContainsAnyExcept(ByteClasses.Ipv6) && IPAddress.IsValidUtf8(text);

    // IPvFuture = "v" 1*HEXDIG "." 1*( unreserved / sub-delims / ":" )
    private static bool IsFutureAddress(ReadOnlySpan<byte> text)
    {
        int dot = text.IndexOf((byte)'.');
        return dot > 0
            && !text[..dot].ContainsAnyExcept(ByteClasses.HexDigits)
            && dot + 1 < text.Length
            && !text[(dot + 1)..].ContainsAnyExcept(ByteClasses.FutureAddress);
    }
}
