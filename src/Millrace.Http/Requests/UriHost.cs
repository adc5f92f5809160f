using System.Net;

namespace Millrace.Http;

/// <summary>
/// Judges <c>uri-host [ ":" port ]</c>, the value of Host and the authority of a target (RFC 9110 section 7.2, RFC 3986 section
/// 3.2.2).
/// </summary>
internal static class UriHost
{
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

    /// <summary>Whether this is what CONNECT asks for: a host and a port that is not left out (RFC 9112 section 3.2.3).</summary>
    public static bool IsValidHostAndPort(ReadOnlySpan<byte> text) => IsValidAuthority(text) && HostBytes(text) + 1 < text.Length;

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

        return end < 0 ? text.Length : end;
    }

    private static bool IsPort(ReadOnlySpan<byte> text)
        => text.IsEmpty || (text[0] == ':' && !text[1..].ContainsAnyExcept(ByteClasses.Digits));

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
            && text[(dot + 1)..].IndexOfAnyExcept(ByteClasses.RegName) is var other
            && (other < 0 || IsRegNameOrColons(text[(dot + 1 + other)..]));
    }

    private static bool IsRegNameOrColons(ReadOnlySpan<byte> text)
    {
        foreach (byte value in text)
        {
            if (value != ':' && !ByteClasses.RegName.Contains(value))
            {
                return false;
            }
        }

        return true;
    }
}
