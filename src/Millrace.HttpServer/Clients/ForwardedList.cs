using System.Net;
using System.Text;
using Millrace.Engine.Filters;

namespace Millrace.HttpServer.Clients;

/// <summary>Reads proxy lists from the end: X-Forwarded-For, and Forwarded (RFC 7239, section 4).</summary>
internal static class ForwardedList
{
    /// <summary>Takes the last element of a comma-separated list.</summary>
    public static ReadOnlySpan<byte> TakeLast(scoped ref ReadOnlySpan<byte> list)
    {
        int comma = list.LastIndexOf((byte)',');
        ReadOnlySpan<byte> last = list[(comma + 1)..];
        list = comma < 0 ? default : list[..comma];
        return Trimmed(last);
    }

    /// <summary>Takes the last element of a Forwarded list, and returns its "for"; empty if it has none.</summary>
    public static ReadOnlySpan<byte> TakeLastFor(scoped ref ReadOnlySpan<byte> list) => ValueOf(TakeLastElement(ref list), "for"u8);

    /// <summary>Takes the last element of a Forwarded list.</summary>
    public static ReadOnlySpan<byte> TakeLastElement(scoped ref ReadOnlySpan<byte> list)
    {
        int comma = LastOutsideQuotes(list, (byte)',');
        ReadOnlySpan<byte> element = list[(comma + 1)..];
        list = comma < 0 ? default : list[..comma];
        return element;
    }

    /// <summary>The value of a parameter of such an element, without its quotes; empty if it has none.</summary>
    public static ReadOnlySpan<byte> ValueOf(ReadOnlySpan<byte> element, scoped ReadOnlySpan<byte> name)
    {
        while (!element.IsEmpty)
        {
            int semicolon = LastOutsideQuotes(element, (byte)';');
            ReadOnlySpan<byte> pair = Trimmed(element[(semicolon + 1)..]);
            element = semicolon < 0 ? default : element[..semicolon];
            int equals = pair.IndexOf((byte)'=');
            if (equals > 0 && Ascii.EqualsIgnoreCase(pair[..equals], name))
            {
                return pair[(equals + 1)..].Trim((byte)'"');
            }
        }

        return default;
    }

    /// <summary>The address of a node: IPv4, or IPv6 in brackets, with an optional port, or either without; else null.</summary>
    public static IPAddress? AddressOf(ReadOnlySpan<byte> node)
    {
        if (!node.IsEmpty && node[0] == '[')
        {
            int end = node.IndexOf((byte)']');
            return end < 0 ? null : AddressText.Parse(node[1..end]);
        }

        // A single colon precedes a port; several belong to an IPv6 address.
        int colon = node.IndexOf((byte)':');
        bool hasPort = colon >= 0 && !node[(colon + 1)..].Contains((byte)':');
        return AddressText.Parse(hasPort ? node[..colon] : node);
    }

    private static ReadOnlySpan<byte> Trimmed(ReadOnlySpan<byte> text) => text.Trim(" \t"u8);

    private static int LastOutsideQuotes(ReadOnlySpan<byte> text, byte separator)
    {
        int last = -1;
        bool isQuoted = false;
        for (int i = 0; i < text.Length; i++)
        {
            isQuoted ^= text[i] == '"' && (i == 0 || text[i - 1] != '\\');
            last = text[i] == separator && !isQuoted ? i : last;
        }

        return last;
    }
}
